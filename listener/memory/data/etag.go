package data

import (
	"hash/crc32"
	"strconv"
	"strings"

	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// tagged adds the entity tag of a row to a reply.
func tagged(p *reply.Reply, row []byte) {
	var room [20]byte
	p.AddCopy("ETag", appendTag(room[:0], row))
}

// appendTag appends the entity tag of a row. The tag of a row is the same in every process.
func appendTag(to, row []byte) []byte {
	sum := uint64(crc32.ChecksumIEEE(row))<<32 | uint64(crc32.Checksum(row, castagnoli))
	return append(strconv.AppendUint(append(to, '"'), sum, 36), '"')
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func etag(row []byte) string { return string(appendTag(nil, row)) }

// names reports whether a header field lists an entity tag, or "*". If weak is true, a weak tag in
// the field equals the strong tag with the same text (RFC 9110, section 8.8.3.2).
func names(field []byte, tag string, weak bool) bool {
	for _, one := range strings.Split(string(field), ",") {
		one = strings.TrimSpace(one)
		if weak {
			one = strings.TrimPrefix(one, "W/")
		}
		if one == "*" || one == tag {
			return true
		}
	}
	return false
}

// precondition returns why a request must not be carried out. It checks If-Match, then, unless the
// request reads, If-None-Match, as RFC 9110 section 13.2.2 requires. It is called only if the request
// would succeed without them (section 13.2.1).
func (o *Operation) precondition(row state.Row, r *matcher.Request) *Failed {
	if field, ok := r.Header("If-Match"); ok && !(row.Found() && names(field, etag(row.JSON), false)) {
		return refuse(reply.Precondition, "the ETag of the row is not one of those in If-Match")
	}
	if field, ok := r.Header("If-None-Match"); ok && o.config.Name != "read" && row.Found() && names(field, etag(row.JSON), true) {
		return refuse(reply.Precondition, "the ETag of the row is one of those in If-None-Match")
	}
	return nil
}
