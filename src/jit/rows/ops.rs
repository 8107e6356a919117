//! The vector instructions that rows are made of, each once for every width.
//!
//! ```text
//! ADDPS = vaddps, 0F 58: dst, a, b or memory or one element for all lanes
//! ```

/// How an instruction is written in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Encoding {
    pub(super) name: &'static str,
    pub(super) map: Map,
    pub(super) prefix: Prefix,
    /// 1 for 64-bit elements and some others.
    pub(super) wide: u8,
    pub(super) opcode: u8,
    /// For masks `Half` says that it is one of three operands.
    pub(super) tuple: Tuple,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Map {
    M0F,
    M0F38,
    M0F3A,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Prefix {
    None,
    P66,
    F3,
    F2,
}

/// How much memory an instruction touches, as a part of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tuple {
    Full,
    Half,
    Quarter,
    Element,
}

macro_rules! ops {
    ($($id:ident $name:literal $map:ident $prefix:ident $wide:literal $opcode:literal $tuple:ident;)*) => {
        $(pub(super) const $id: Encoding = Encoding {
            name: $name,
            map: Map::$map,
            prefix: Prefix::$prefix,
            wide: $wide,
            opcode: $opcode,
            tuple: Tuple::$tuple,
        };)*
        /// All of them, for tests.
        #[cfg(test)]
        pub(super) const ALL: &[Encoding] = &[$($id),*];
    };
}

ops! {
    ADDPS "vaddps" M0F None 0 0x58 Full;
    ADDPD "vaddpd" M0F P66 1 0x58 Full;
    SUBPS "vsubps" M0F None 0 0x5c Full;
    SUBPD "vsubpd" M0F P66 1 0x5c Full;
    MULPS "vmulps" M0F None 0 0x59 Full;
    MULPD "vmulpd" M0F P66 1 0x59 Full;
    DIVPS "vdivps" M0F None 0 0x5e Full;
    DIVPD "vdivpd" M0F P66 1 0x5e Full;
    MINPS "vminps" M0F None 0 0x5d Full;
    MINPD "vminpd" M0F P66 1 0x5d Full;
    MAXPS "vmaxps" M0F None 0 0x5f Full;
    MAXPD "vmaxpd" M0F P66 1 0x5f Full;
    SQRTPS "vsqrtps" M0F None 0 0x51 Full;
    SQRTPD "vsqrtpd" M0F P66 1 0x51 Full;
    RNDPS "vrndscaleps" M0F3A P66 0 0x08 Full;
    RNDPD "vrndscalepd" M0F3A P66 1 0x09 Full;
    RANGEPS "vrangeps" M0F3A P66 0 0x50 Full;
    RANGEPD "vrangepd" M0F3A P66 1 0x50 Full;
    CMPPS "vcmpps" M0F None 0 0xc2 Full;
    CMPPD "vcmppd" M0F P66 1 0xc2 Full;
    FMA132PS "vfmadd132ps" M0F38 P66 0 0x98 Full;
    FMA132PD "vfmadd132pd" M0F38 P66 1 0x98 Full;
    FMA213PS "vfmadd213ps" M0F38 P66 0 0xa8 Full;
    FMA213PD "vfmadd213pd" M0F38 P66 1 0xa8 Full;
    FMA231PS "vfmadd231ps" M0F38 P66 0 0xb8 Full;
    FMA231PD "vfmadd231pd" M0F38 P66 1 0xb8 Full;

    FNMA213PS "vfnmadd213ps" M0F38 P66 0 0xac Full;
    FNMA213PD "vfnmadd213pd" M0F38 P66 1 0xac Full;
    // Any function of three bits, by its table; the third may be one element for all lanes.
    TERND "vpternlogd" M0F3A P66 0 0x25 Full;
    TERNQ "vpternlogq" M0F3A P66 1 0x25 Full;

    ANDD "vpandd" M0F P66 0 0xdb Full;
    ANDQ "vpandq" M0F P66 1 0xdb Full;
    ORD "vpord" M0F P66 0 0xeb Full;
    ORQ "vporq" M0F P66 1 0xeb Full;
    XORD "vpxord" M0F P66 0 0xef Full;
    XORQ "vpxorq" M0F P66 1 0xef Full;
    ADDD "vpaddd" M0F P66 0 0xfe Full;
    ADDQ "vpaddq" M0F P66 1 0xd4 Full;
    SUBD "vpsubd" M0F P66 0 0xfa Full;
    SUBQ "vpsubq" M0F P66 1 0xfb Full;
    MULD "vpmulld" M0F38 P66 0 0x40 Full;
    MULQ "vpmullq" M0F38 P66 1 0x40 Full;
    MINSD "vpminsd" M0F38 P66 0 0x39 Full;
    MINSQ "vpminsq" M0F38 P66 1 0x39 Full;
    MINUD "vpminud" M0F38 P66 0 0x3b Full;
    MINUQ "vpminuq" M0F38 P66 1 0x3b Full;
    MAXSD "vpmaxsd" M0F38 P66 0 0x3d Full;
    MAXSQ "vpmaxsq" M0F38 P66 1 0x3d Full;
    MAXUD "vpmaxud" M0F38 P66 0 0x3f Full;
    MAXUQ "vpmaxuq" M0F38 P66 1 0x3f Full;
    ABSD "vpabsd" M0F38 P66 0 0x1e Full;
    ABSQ "vpabsq" M0F38 P66 1 0x1f Full;
    SLLVD "vpsllvd" M0F38 P66 0 0x47 Full;
    SLLVQ "vpsllvq" M0F38 P66 1 0x47 Full;
    SRLVD "vpsrlvd" M0F38 P66 0 0x45 Full;
    SRLVQ "vpsrlvq" M0F38 P66 1 0x45 Full;
    SRAVD "vpsravd" M0F38 P66 0 0x46 Full;
    SRAVQ "vpsravq" M0F38 P66 1 0x46 Full;
    CMPD "vpcmpd" M0F3A P66 0 0x1f Full;
    CMPQ "vpcmpq" M0F3A P66 1 0x1f Full;
    CMPUD "vpcmpud" M0F3A P66 0 0x1e Full;
    CMPUQ "vpcmpuq" M0F3A P66 1 0x1e Full;
    TESTD "vptestmd" M0F38 P66 0 0x27 Full;
    TESTQ "vptestmq" M0F38 P66 1 0x27 Full;
    BLENDD "vpblendmd" M0F38 P66 0 0x64 Full;
    BLENDQ "vpblendmq" M0F38 P66 1 0x64 Full;
    // Shifts by a constant; which one, says the register field.
    SHIFTD "shift d" M0F P66 0 0x72 Full;
    SHIFTQA "shift arithmetic q" M0F P66 1 0x72 Full;
    SHIFTQ "shift q" M0F P66 1 0x73 Full;

    CVTDQ2PS "vcvtdq2ps" M0F None 0 0x5b Full;
    CVTUDQ2PS "vcvtudq2ps" M0F F2 0 0x7a Full;
    CVTTPS2DQ "vcvttps2dq" M0F F3 0 0x5b Full;
    CVTTPS2UDQ "vcvttps2udq" M0F None 0 0x78 Full;
    CVTQQ2PD "vcvtqq2pd" M0F F3 1 0xe6 Full;
    CVTUQQ2PD "vcvtuqq2pd" M0F F3 1 0x7a Full;
    CVTTPD2QQ "vcvttpd2qq" M0F P66 1 0x7a Full;
    CVTTPD2UQQ "vcvttpd2uqq" M0F P66 1 0x78 Full;
    // To twice the width, from the lower half of a register.
    CVTPS2PD "vcvtps2pd" M0F None 0 0x5a Half;
    CVTDQ2PD "vcvtdq2pd" M0F F3 0 0xe6 Half;
    CVTUDQ2PD "vcvtudq2pd" M0F F3 0 0x7a Half;
    CVTTPS2QQ "vcvttps2qq" M0F P66 0 0x7a Half;
    MOVSXDQ "vpmovsxdq" M0F38 P66 0 0x25 Half;
    MOVZXDQ "vpmovzxdq" M0F38 P66 0 0x35 Half;
    CVTPH2PS "vcvtph2ps" M0F38 P66 0 0x13 Half;
    // To half the width, into the lower half of a register.
    CVTPD2PS "vcvtpd2ps" M0F P66 1 0x5a Full;
    CVTQQ2PS "vcvtqq2ps" M0F None 1 0x5b Full;
    CVTUQQ2PS "vcvtuqq2ps" M0F F2 1 0x7a Full;
    CVTTPD2DQ "vcvttpd2dq" M0F P66 1 0xe6 Full;
    CVTTPD2UDQ "vcvttpd2udq" M0F None 1 0x78 Full;
    MOVQD "vpmovqd" M0F38 F3 0 0x35 Half;
    CVTPS2PH "vcvtps2ph" M0F3A P66 0 0x1d Half;

    MOVPS "vmovups" M0F None 0 0x10 Full;
    MOVPD "vmovupd" M0F P66 1 0x10 Full;
    STOREPS "vmovups" M0F None 0 0x11 Full;
    STOREPD "vmovupd" M0F P66 1 0x11 Full;
    STREAMPS "vmovntps" M0F None 0 0x2b Full;
    STREAMPD "vmovntpd" M0F P66 1 0x2b Full;
    MOVZXBD "vpmovzxbd" M0F38 P66 0 0x31 Quarter;
    MOVSXBD "vpmovsxbd" M0F38 P66 0 0x21 Quarter;
    MOVZXWD "vpmovzxwd" M0F38 P66 0 0x33 Half;
    MOVSXWD "vpmovsxwd" M0F38 P66 0 0x23 Half;
    MOVDB "vpmovdb" M0F38 F3 0 0x31 Quarter;
    MOVDW "vpmovdw" M0F38 F3 0 0x33 Half;
    SPLATD "vbroadcastss" M0F38 P66 0 0x18 Element;
    SPLATQ "vbroadcastsd" M0F38 P66 1 0x19 Element;
    SPLATRD "vpbroadcastd" M0F38 P66 0 0x7c Full;
    SPLATRQ "vpbroadcastq" M0F38 P66 1 0x7c Full;
    UPPER512 "vextracti64x4" M0F3A P66 1 0x3b Half;
    UPPER256 "vextracti32x4" M0F3A P66 0 0x39 Half;
    JOIN512 "vinserti64x4" M0F3A P66 1 0x3a Half;
    JOIN256 "vinserti32x4" M0F3A P66 0 0x38 Half;
    // Elements of two registers in turn, in each 128 bits; and lanes of 128 bits of two registers.
    UNPCKLPS "vunpcklps" M0F None 0 0x14 Full;
    UNPCKHPS "vunpckhps" M0F None 0 0x15 Full;
    UNPCKLPD "vunpcklpd" M0F P66 1 0x14 Full;
    UNPCKHPD "vunpckhpd" M0F P66 1 0x15 Full;
    SHUF32X4 "vshuff32x4" M0F3A P66 0 0x23 Full;
    // The lanes of two registers, the second one's first, from a number on.
    ALIGND "valignd" M0F3A P66 0 0x03 Full;
    PERMD "vpermd" M0F38 P66 0 0x36 Full;
    PERM2D "vpermt2d" M0F38 P66 0 0x7e Full;
    PERM2Q "vpermt2q" M0F38 P66 1 0x7e Full;
    // Gathers: 32- or 64-bit elements at 32-bit (D) or 64-bit (Q) indices.
    GATHERDD "vpgatherdd" M0F38 P66 0 0x90 Element;
    GATHERDQ "vpgatherdq" M0F38 P66 1 0x90 Element;
    GATHERQD "vpgatherqd" M0F38 P66 0 0x91 Element;
    GATHERQQ "vpgatherqq" M0F38 P66 1 0x91 Element;

    KAND "kandw" M0F None 0 0x41 Half;
    KOR "korw" M0F None 0 0x45 Half;
    KXOR "kxorw" M0F None 0 0x47 Half;
    KXNOR "kxnorw" M0F None 0 0x46 Half;
    KNOT "knotw" M0F None 0 0x44 Full;
    KUNPCK "kunpckbw" M0F P66 0 0x4b Half;
    KSHIFTR "kshiftrw" M0F3A P66 1 0x30 Full;
    KSHIFTL "kshiftlw" M0F3A P66 1 0x32 Full;
    KTEST "kortestw" M0F None 0 0x98 Full;
    KLOAD "kmovw" M0F None 0 0x90 Full;
    KSTORE "kmovw" M0F None 0 0x91 Full;
    KFROM "kmovw" M0F None 0 0x92 Full;
}
