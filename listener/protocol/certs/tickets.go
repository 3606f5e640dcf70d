package certs

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"mockserver/internal/files"
)

// keySize is the size of a key in the file, in bytes.
const keySize = 32

// maxKeys is the maximum number of keys in a file: each handshake may try all of them.
const maxKeys = 16

// readKeys reads the keys of session tickets, one a line, as base64 of 32 bytes, which is what
// "openssl rand -base64 32" prints. Tickets are made with the first key, and accepted with all
// keys: to rotate keys, add a new key in second place on every server, and only then move it to the
// front.
func readKeys(name string) (keys [][keySize]byte, err error) {
	text, err := files.Read(name)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(string(line))
		if err != nil || len(key) != keySize {
			return nil, fmt.Errorf("line %d is not a key; expected 32 bytes as base64, as openssl rand -base64 32 prints them", n)
		}
		keys = append(keys, [keySize]byte(key))
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("it contains no key; expected one per line")
	case len(keys) > maxKeys:
		return nil, fmt.Errorf("it contains %d keys; expected at most %d", len(keys), maxKeys)
	}
	return keys, nil
}

// derive returns the keys with which tickets are encrypted. They depend on the CAs of clients and
// on whether a certificate is required, because a resumed session does not ask the client for one:
// after a change to the CAs, no old ticket is accepted, whatever keys the file has.
func derive(keys [][keySize]byte, clients [sha256.Size]byte, mode string) [][keySize]byte {
	derived := make([][keySize]byte, len(keys))
	for i, key := range keys {
		made, err := hkdf.Key(sha256.New, key[:], clients[:], "mockserver session tickets, client certificates "+mode, keySize)
		if err != nil {
			panic(err) // only if more bytes are requested than SHA-256 can derive
		}
		derived[i] = [keySize]byte(made)
	}
	return derived
}
