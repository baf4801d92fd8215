"""The settings, group by group; ``settings.known`` puts them together."""
