package imports

// formats are all formats, the most certainly recognized first.
var formats = []format{}
