import { BlockList, isIP } from 'node:net';
import { buildConnector } from 'undici';
import type { Dial } from '../../src/kernel/outgoing/guarded-connect.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Writes down every address that would be dialled and really dials this machine only, also when the guard is broken. */
export function createLoopbackDial(): { readonly dial: Dial; readonly dialled: string[] } {
  const connect = buildConnector({ timeout: 10_000 });
  const dialled: string[] = [];
  return {
    dialled,
    dial(options, callback) {
      const { hostname } = options;
      dialled.push(hostname);
      if (isIP(hostname) !== 0 && loopback.check(hostname, isIP(hostname) === 6 ? 'ipv6' : 'ipv4')) {
        return connect(options, callback);
      }
      queueMicrotask(() => callback(Object.assign(new Error('not this machine'), { code: 'ENETUNREACH' }), null));
    },
  };
}
