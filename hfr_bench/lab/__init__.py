"""The pipeline, a file a stage in the order of the data.

register -> plan -> wire -> trial (guard, recorder, judge) -> journal -> store -> analyse -> render.
"""
