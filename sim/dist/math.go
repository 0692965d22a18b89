package dist

import "math"

// The functions below use nothing but +, -, *, / and square roots, which IEEE 754 defines to the last bit, and round every
// product before it is added, so that no compiler may fuse the two: a conversion to float64 forbids it, an assignment does
// not. So they return the same bits everywhere. Those of package math do not: some are assembly, per architecture. Log and
// Exp are within 2 units in the last place of the true value.

// ln 2 in two parts: the product of the first with an exponent is exact.
const (
	ln2Hi = 0x1.62e42p-1
	ln2Lo = 0x1.fdf473de6af28p-22
)

// Log returns the natural logarithm of x > 0; -Inf for 0, NaN below.
//
// x = 2^k * m with m in (sqrt(1/2), sqrt(2)]. With f = m-1 and s = f/(2+f), ln m = 2s + s*R, where R = s^2 (2/3 + 2/5 s^2 +
// ...) is a polynomial fitted to the interval (Chebyshev, error below 2^-51 before the factor s^2/2 < 0.015). As 2s = f - s*f,
// the sum f - s*(f-R) starts from f, which is exact.
func Log(x float64) float64 {
	k := 0
	if !(x >= 0x1p-1022 && x < math.Inf(1)) {
		switch {
		case x == 0:
			return math.Inf(-1)
		case x > 0 && x < 1:
			x, k = x*0x1p54, -54 // subnormal
		case x > 0:
			return x
		default:
			return math.NaN()
		}
	}
	const one, sqrtHalf = 0x3ff << 52, 0x3fe6a09e667f3bcd // the bits of 1 and of sqrt(1/2)
	bits := math.Float64bits(x) + (one - sqrtHalf)
	k += int(bits>>52) - 0x3ff
	f := math.Float64frombits(bits&(1<<52-1)+sqrtHalf) - 1

	s := f / (2 + f)
	z := s * s
	z2 := z * z
	z4 := z2 * z2
	p01 := 0.6666666666666670 + float64(z*0.39999999999899505)
	p23 := 0.28571428625975487 + float64(z*0.2222221113479508)
	p45 := 0.18182889125261723 + float64(z*0.15331721600556042)
	p46 := p45 + float64(z2*0.14616449685043406)
	r := float64(z * (p01 + float64(z2*p23) + float64(z4*p46)))
	y := f - (float64(s*(f-r)) - float64(float64(k)*ln2Lo))
	return y + float64(float64(k)*ln2Hi)
}

// Exp returns e**x; beyond the range of float64 it is +Inf or 0.
//
// x = k ln 2 + r with |r| <= ln(2)/2, and e^r = 1 + r + r^2 (1/2! + r/3! + ...), Taylor's series to r^13 (error below 2^-57).
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 709.782712893384:
		return math.Inf(1)
	case x < -745.1332191019412:
		return 0
	}
	k := math.Floor(float64(x*(1/math.Ln2)) + 0.5)
	hi := x - float64(k*ln2Hi)
	lo := float64(k * ln2Lo)
	r := hi - lo
	z := r * r
	z2 := z * z
	even := 1.0/2 + float64(z*(1.0/24)) + float64(z2*(1.0/720+float64(z*(1.0/40320))+float64(z2*(1.0/3628800+float64(z*(1.0/479001600))))))
	odd := 1.0/6 + float64(z*(1.0/120)) + float64(z2*(1.0/5040+float64(z*(1.0/362880))+float64(z2*(1.0/39916800+float64(z*(1.0/6227020800))))))
	y := 1 + (hi - (lo - float64(z*(even+float64(r*odd)))))
	return math.Ldexp(y, int(k))
}

// NormalQuantile returns the value that a standard normal variable stays below with probability p in (0, 1). Wichura,
// Algorithm AS 241: The percentage points of the normal distribution, 1988 (PPND16; with rounding, within 1e-15 of the true value).
func NormalQuantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * ratio(r, &centreNum, &centreDen)
	}
	r := p
	if q > 0 {
		r = 1 - p
	}
	r = math.Sqrt(-Log(r))
	var x float64
	if r <= 5 {
		x = ratio(r-1.6, &middleNum, &middleDen)
	} else {
		x = ratio(r-5, &tailNum, &tailDen)
	}
	if q < 0 {
		return -x
	}
	return x
}

// ratio returns the quotient of two polynomials; the coefficients are those of rising powers.
func ratio(x float64, num, den *[8]float64) float64 {
	a, b := num[7], den[7]
	for i := 6; i >= 0; i-- {
		a = float64(a*x) + num[i]
		b = float64(b*x) + den[i]
	}
	return a / b
}

var (
	centreNum = [8]float64{3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
		4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3}
	centreDen = [8]float64{1, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
		2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3}
	middleNum = [8]float64{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4}
	middleDen = [8]float64{1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}
	tailNum = [8]float64{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7}
	tailDen = [8]float64{1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}
)
