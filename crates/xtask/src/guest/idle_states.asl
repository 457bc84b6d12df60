// Idle states of the guest's CPUs, which qemu's own tables do not have. As acpi_idle
// shows them: C1, C2 and C3, with latencies of 1, 20 and 200 us.
//
// All are of type 1, which Linux enters by HLT (CSTATE_HALT in drivers/acpi/processor_idle.c),
// so that an idle CPU halts in each. Types 2 and 3 read an I/O port, which returns at once
// under emulation.
DefinitionBlock ("", "SSDT", 1, "PLIM", "IDLE", 1)
{
    External (\_SB.CPUS.C000, ProcessorObj)
    External (\_SB.CPUS.C001, ProcessorObj)

    // Each state: register, type, latency in us, power in mW.
    Scope (\_SB.CPUS.C000)
    {
        Name (_CST, Package () {
            3,
            Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1,   1, 0 },
            Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1,  20, 0 },
            Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 200, 0 }
        })
    }
    Scope (\_SB.CPUS.C001)
    {
        Method (_CST) { Return (\_SB.CPUS.C000._CST) }
    }
}
