import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';

export interface DnsServer {
  /** As a resolver names it. */
  readonly address: string;
  /** The names asked for, in order, each with its record type. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Answers with the addresses that `answer` gives for the nth question of that name and type; undefined is silence. */
export async function startDnsServer(
  answer: (question: { name: string; type: 'A' | 'AAAA'; nth: number }) => readonly string[] | undefined,
): Promise<DnsServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, peer) => {
    const { name, type, question } = readQuestion(message);
    asked.push(`${type} ${name}`);
    const addresses = answer({ name, type, nth: asked.filter((one) => one === `${type} ${name}`).length });
    if (addresses !== undefined) socket.send(writeAnswer(message, question, addresses), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(message: Buffer): { name: string; type: 'A' | 'AAAA'; question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let size = message.readUInt8(at); size > 0; size = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  const type = message.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A';
  return { name: labels.join('.').toLowerCase(), type, question: message.subarray(12, at + 5) };
}

/** Every record lives for no second at all, as an attacker would have it. */
function writeAnswer(message: Buffer, question: Buffer, addresses: readonly string[]): Buffer {
  const header = Buffer.alloc(12);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const data = isIPv6(address) ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number));
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(isIPv6(address) ? 28 : 1, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, question, ...records]);
}

function ipv6Bytes(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter(Boolean);
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill('0');
  const all = [...groups(head), ...zeros, ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
