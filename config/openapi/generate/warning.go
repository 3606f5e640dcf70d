package generate

// Kinds of warnings that can occur many times in one document.
const (
	manySent     = "examples are not what their schema accepts, and are sent all the same"
	manyUnused   = "examples are not what their schema accepts, and are not used"
	manyBodies   = "schemas accept no body that was found; the nearest is served"
	manyHeaders  = "headers have no value that was found that their schema accepts; the nearest is served"
	manyPatterns = "patterns are not understood; texts are made without them"
	manyFakers   = "x-faker hints are unknown, and have no effect"
	manyExternal = "examples cannot be read, and are left out"
)
