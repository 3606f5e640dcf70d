package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/address"
	"mockserver/internal/list"
)

// Members says where the admin addresses of the replicas are.
type Members struct {
	name, port string   // looked up in DNS; name is "" for a fixed list
	fixed      []string // in the order in which they are given
}

// MembersForm describes what ParseMembers accepts, for messages.
const MembersForm = "dns:NAME:PORT, or a list of addresses and ranges, such as 127.0.0.1:8001-8008 or 10.0.0.1:8001,10.0.0.2:8001"

// mostMembers is the maximum number of replicas.
const mostMembers = 1000

// ParseMembers parses dns:NAME:PORT, or a list of addresses and ranges of ports, separated by
// commas.
func ParseMembers(text string) (Members, error) {
	if name, ok := strings.CutPrefix(text, "dns:"); ok {
		host, ports, err := hostAndPorts(name)
		if err != nil || len(ports) != 1 {
			return Members{}, errMembers(text)
		}
		return Members{name: host, port: strconv.Itoa(ports[0])}, nil
	}
	var m Members
	for item := range strings.SplitSeq(text, ",") {
		host, ports, err := hostAndPorts(strings.TrimSpace(item))
		if err != nil || len(m.fixed)+len(ports) > mostMembers {
			return Members{}, errMembers(text)
		}
		for _, port := range ports {
			one := net.JoinHostPort(host, strconv.Itoa(port))
			if slices.Contains(m.fixed, one) {
				return Members{}, fmt.Errorf("%s is listed twice", one)
			}
			m.fixed = append(m.fixed, one)
		}
	}
	return m, nil
}

func errMembers(text string) error { return fmt.Errorf("%q; expected %s", text, MembersForm) }

// hostAndPorts parses HOST:PORT and HOST:FIRST-LAST.
func hostAndPorts(text string) (host string, ports []int, err error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil && address.NameFault(strings.ToLower(host)) != "" {
		return "", nil, err
	}
	first, last, ranged := strings.Cut(port, "-")
	low, err := strconv.ParseUint(first, 10, 16)
	high := low
	if err == nil && ranged {
		high, err = strconv.ParseUint(last, 10, 16)
	}
	if err != nil || low == 0 || high < low || high-low >= mostMembers {
		return "", nil, errors.New("not a port or a range of ports")
	}
	for port := low; port <= high; port++ {
		ports = append(ports, int(port))
	}
	return host, ports, nil
}

// look returns the addresses of the members. The addresses of a DNS name are sorted.
func (m Members) look(ctx context.Context) ([]string, error) {
	if m.name == "" {
		return m.fixed, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", m.name) // A and AAAA
	if err != nil {
		return nil, err
	}
	addresses := list.Map(found, func(ip netip.Addr) string { return net.JoinHostPort(ip.Unmap().String(), m.port) })
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}

// isLoopback reports whether all members are on loopback addresses.
func (m Members) isLoopback() bool {
	return m.name == "" && !slices.ContainsFunc(m.fixed, func(one string) bool {
		host, _, _ := net.SplitHostPort(one)
		ip, err := netip.ParseAddr(host)
		return !(err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost"))
	})
}
