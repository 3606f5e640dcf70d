// Package config reads and checks configurations, which are written in the configuration language,
// in files or in Go. The settings of the process are in package settings.
//
// # The language
//
// A configuration is a list, written in YAML, JSON or EDN. Each item is a map with
// one key: endpoint, websocket, data, scenario, resource or upstream:
//
//	# yaml
//	- endpoint:
//	    method: GET                  # GET by default, any case
//	    path: /users/:id|int         # parameters, see package matcher
//	    host: "*.example.com"        # optional
//	    if: query-params.page = 2    # optional condition, see package renderer
//	    response:
//	      status: 200                # 200..599
//	      headers:
//	        Content-Type: application/json
//	        Set-Cookie: [a=1, b=2]   # a list repeats the header
//	      body: '{"id": {{path-params.id}}}'
//
// A body is a text, or a map or list that is served as its JSON text. Instead
// of body, external-body names a JSON file, a URL, or a sheet of a workbook (package fetcher). A
// websocket item is a path at which requests open WebSocket connections; a data item is a set of rows;
// a resource item is a REST collection over such a set. They are documented in package item.
// The keys query, body, tag, summary, description and router-name of an endpoint only document it.
//
// Reading never stops at the first error: a Spec contains every problem found, each with its
// position.
package config

import "mockserver/config/syntax"

// The positions and problems of a configuration. They are documented in package syntax.
type (
	// Pos is a position in a file.
	Pos = syntax.Pos
	// Problem is an error or a warning, with its position.
	Problem = syntax.Problem
	// Problems are all problems of a configuration. They are also an error: see Problems.Err.
	Problems = syntax.Problems
)
