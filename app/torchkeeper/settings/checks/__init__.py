"""The rules, by what they are about; ``settings.rules`` puts them together."""
