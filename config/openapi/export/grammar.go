package export

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// element is a kind of OpenAPI object. Its members are listed in grammar.
type element string

const (
	documentObject   element = "document"
	componentsObject element = "components"
	pathItemObject   element = "path item"
	operationObject  element = "operation"
	parameterObject  element = "parameter"
	bodyObject       element = "request body"
	responseObject   element = "response"
	headerObject     element = "header"
	mediaTypeObject  element = "media type"
	encodingObject   element = "encoding"
	exampleObject    element = "example"
	linkObject       element = "link"
	callbackObject   element = "callback"
	securityObject   element = "security scheme"
	schemaObject     element = "schema"
)

// slot describes the value of a member of an object.
type slot struct {
	element
	form slotForm
}

type slotForm uint8

const (
	single slotForm = iota // an object; in schemas also a boolean
	listOf                 // a list of objects
	mapOf                  // a map of names to objects
)

// sections maps each element to its section in components.
var sections = map[element]string{
	schemaObject: "schemas", responseObject: "responses", parameterObject: "parameters", exampleObject: "examples",
	bodyObject: "requestBodies", headerObject: "headers", securityObject: "securitySchemes", linkObject: "links",
	callbackObject: "callbacks", pathItemObject: "pathItems",
}

// grammar lists the members of each object that contain objects, and so everything that a reference
// can replace. Members that are not listed, such as the value of an example, contain no objects,
// whatever they look like. The key "" stands for every member that is not an extension.
var grammar = map[element]map[string]slot{
	documentObject: {"paths": {pathItemObject, mapOf}, "webhooks": {pathItemObject, mapOf}, "components": {componentsObject, single}},
	componentsObject: {
		"schemas": {schemaObject, mapOf}, "responses": {responseObject, mapOf}, "parameters": {parameterObject, mapOf},
		"examples": {exampleObject, mapOf}, "requestBodies": {bodyObject, mapOf}, "headers": {headerObject, mapOf},
		"securitySchemes": {securityObject, mapOf}, "links": {linkObject, mapOf}, "callbacks": {callbackObject, mapOf},
		"pathItems": {pathItemObject, mapOf},
	},
	pathItemObject: {
		"parameters": {parameterObject, listOf},
		"get":        {operationObject, single}, "put": {operationObject, single}, "post": {operationObject, single},
		"delete": {operationObject, single}, "options": {operationObject, single}, "head": {operationObject, single},
		"patch": {operationObject, single}, "trace": {operationObject, single},
	},
	operationObject: {
		"parameters": {parameterObject, listOf}, "requestBody": {bodyObject, single},
		"responses": {responseObject, mapOf}, "callbacks": {callbackObject, mapOf},
	},
	parameterObject: {"schema": {schemaObject, single}, "content": {mediaTypeObject, mapOf}, "examples": {exampleObject, mapOf}},
	headerObject:    {"schema": {schemaObject, single}, "content": {mediaTypeObject, mapOf}, "examples": {exampleObject, mapOf}},
	bodyObject:      {"content": {mediaTypeObject, mapOf}},
	responseObject:  {"headers": {headerObject, mapOf}, "content": {mediaTypeObject, mapOf}, "links": {linkObject, mapOf}},
	mediaTypeObject: {"schema": {schemaObject, single}, "examples": {exampleObject, mapOf}, "encoding": {encodingObject, mapOf}},
	encodingObject:  {"headers": {headerObject, mapOf}},
	callbackObject:  {"": {pathItemObject, single}},
	schemaObject: {
		"properties": {schemaObject, mapOf}, "patternProperties": {schemaObject, mapOf}, "dependentSchemas": {schemaObject, mapOf},
		"$defs": {schemaObject, mapOf}, "definitions": {schemaObject, mapOf},
		"allOf": {schemaObject, listOf}, "anyOf": {schemaObject, listOf}, "oneOf": {schemaObject, listOf}, "prefixItems": {schemaObject, listOf},
		"items": {schemaObject, single}, "additionalProperties": {schemaObject, single}, "not": {schemaObject, single},
		"if": {schemaObject, single}, "then": {schemaObject, single}, "else": {schemaObject, single}, "contains": {schemaObject, single},
		"propertyNames": {schemaObject, single}, "contentSchema": {schemaObject, single},
		"unevaluatedItems": {schemaObject, single}, "unevaluatedProperties": {schemaObject, single},
	},
}

// unused returns a name that is not yet in a map.
func unused(t *syntax.Node, name string) string {
	first := name
	for n := 2; t.Get(name) != nil; n++ {
		name = fmt.Sprintf("%s_%d", first, n)
	}
	return name
}

// each calls do for each object that is a member of t or an item of a member.
func each(t *syntax.Node, of element, do func(value *syntax.Node, of element)) {
	for key, value := range t.Members() {
		m, ok := grammar[of][key]
		if !ok && !strings.HasPrefix(key, "x-") {
			m, ok = grammar[of][""]
		}
		switch {
		case !ok:
		case m.form == single:
			do(value, m.element)
		default:
			for _, item := range value.Members() {
				do(item, m.element)
			}
			for _, item := range value.List() {
				do(item, m.element)
			}
		}
	}
}

// visit calls do for each schema in an object.
func visit(t *syntax.Node, of element, do func(schema *syntax.Node)) {
	if !t.IsMap() {
		return
	}
	if of == schemaObject {
		do(t)
	}
	each(t, of, func(value *syntax.Node, of element) { visit(value, of, do) })
}

// orNullTree makes a schema accept null, whatever the schemas that it is composed of require.
func orNullTree(t *syntax.Node) {
	parts := syntax.NewMap()
	for _, key := range []string{"allOf", "anyOf", "oneOf", "discriminator"} {
		if part := t.Get(key); part != nil {
			parts.Set(key, part)
			t.Delete(key)
		}
	}
	if parts.Len() > 0 {
		t.Set("anyOf", syntax.NewList(syntax.NewMap().SetText("type", "null"), parts))
	}
}

// upgrade converts the parts of an OpenAPI 3.0 schema that differ in 3.1.
func upgrade(t *syntax.Node) {
	if nullable := t.Get("nullable"); nullable != nil {
		t.Delete("nullable")
		if typ := t.Get("type"); nullable.Truth() && typ.AsText() != "" {
			t.Set("type", syntax.NewList(typ, syntax.NewText("null")))
			if enum := t.Get("enum"); enum != nil && !slices.ContainsFunc(enum.List(), func(v *syntax.Node) bool { return v.Kind == syntax.NullNode }) {
				t.Set("enum", syntax.NewList(enum.List()...).Append(&syntax.Node{}))
			}
		}
		if nullable.Truth() {
			orNullTree(t)
		}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		set := t.Get(exclusive)
		if set == nil || set.Kind != syntax.BoolNode {
			continue
		}
		t.Delete(exclusive)
		if value := t.Get(bound); set.Truth() && value != nil {
			t.Set(exclusive, value)
			t.Delete(bound)
		}
	}
}
