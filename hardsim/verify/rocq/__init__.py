"""Read the Rocq instance of a theorem back: which network and which formula its text states.

The reader shares no code with the generator of instances, and imports the standard library alone. It accepts only the
sublanguage that the generator writes, so nothing in a file that it accepts can change what the theorem says.
"""
