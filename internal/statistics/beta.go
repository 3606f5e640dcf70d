package statistics

import "math"

// beta returns the regularized incomplete beta function.
func beta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // the fraction converges quickly only below
		return 1 - beta(1-x, b, a)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	return front * betaFraction(x, a, b)
}

// betaFraction evaluates the continued fraction of the incomplete beta function, as Lentz does.
func betaFraction(x, a, b float64) float64 {
	const tiny, precise = 1e-300, 1e-12
	apart := func(v float64) float64 { // from 0
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/apart(1-(a+b)*x/(a+1))
	result := d
	for m := 1.0; m < 10_000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/apart(1+even*d), apart(1+even/c)
		result *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/apart(1+odd*d), apart(1+odd/c)
		result *= d * c
		if math.Abs(d*c-1) < precise {
			break
		}
	}
	return result
}
