// node --import: a program's own timeouts, some of them half a second, end only what hangs, also on a busy machine.
const { setTimeout } = globalThis;
globalThis.setTimeout = Object.assign((call, ms = 0, ...args) => setTimeout(call, ms * 20, ...args), setTimeout);
