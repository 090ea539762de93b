// Checks that records of decisions were not changed, removed or reordered. Plain Node, nothing to install:
//
//   curl -H "Authorization: Bearer $KEY" "$URL/api/account/decisions/export" > decisions.json
//   curl "$URL/.well-known/paywright-decisions.json" > published.json
//   node verify-decisions.mjs decisions.json published.json [--rpc <URL of a node of the anchor's chain>]
//
// The first file may also be a single proof, of GET /account/decisions/{id}/proof. Without the second, the keys in the file are
// believed. One line says what was found; the exit code is 0 when everything holds and 1 when anything does not. What is hashed is
// written down in src/policies/decisions/README.md.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

class Unsound extends Error {}

/** Throws Unsound with a sentence, or answers what holds: how many records, how many of them a signed root covers, and that root. */
export function verifyDecisions(file, published) {
  onlyFields(file, ['account', 'keys', 'previous', 'seal', 'entries'], 'the file');
  const { account, previous, seal, entries } = file;
  holds(
    typeof account === 'string' && Array.isArray(entries) && entries.length > 0,
    'there are no records in the file',
  );
  onlyFields(previous, ['seq', 'head'], 'the beginning');
  let head = toBytes(previous.head, 32, 'the head before the first record');
  let seq = toNumber(previous.seq, 'the number before the first record');
  holds(seq > 0 || head.every((byte) => byte === 0), 'a chain that begins with the first record begins with zeros');
  let sealed;
  for (const entry of entries) {
    seq += 1;
    head = verifyEntry(entry, { account, seq, head });
    if (seal !== null && String(seq) === seal?.seq) sealed = head;
  }
  const from = seq - entries.length + 1;
  if (seal === null) return { from, to: seq, sealedTo: 0, root: undefined, anchor: null };
  onlyFields(seal, ['seq', 'place', 'salt', 'path', 'root', 'signature', 'anchor'], 'the seal');
  holds(sealed !== undefined, `record ${seal.seq}, which the signed root covers, is not in the file`);
  verifySeal(account, seal, sealed);
  verifySignature(seal, published?.keys ?? file.keys);
  const told = published?.anchors?.find(({ root }) => root === seal.root.number)?.txHash;
  holds(told === undefined || told === seal.anchor?.txHash, 'the root is published with another anchor');
  return { from, to: seq, sealedTo: Number(seal.seq), root: seal.root, anchor: seal.anchor };
}

/** Answers the head of the chain after the entry. */
export function verifyEntry(entry, { account, seq, head }) {
  const name = `record ${seq}`;
  const isShown = isObject(entry) && 'record' in entry;
  onlyFields(entry, [isShown ? 'record' : 'hash', 'head'], name);
  if (isShown) {
    holds(isObject(entry.record), `${name} is not a record`);
    holds(entry.record.seq === String(seq), `${name} is missing: the next one is number ${entry.record.seq}`);
    holds(entry.record.account === account, `${name} is of another account`);
  }
  const hashed = isShown
    ? sha256(Buffer.of(2), canonical(entry.record, name))
    : toBytes(entry.hash, 32, `the hash of ${name}`);
  const next = sha256(Buffer.of(3), head, hashed);
  holds(
    toBytes(entry.head, 32, `the head of ${name}`).equals(next),
    `${name} was changed, or does not follow the one before it`,
  );
  return next;
}

/** From the leaf up to the root (RFC 9162, 2.1.3.2). */
function verifySeal(account, { seq, place, salt, path, root }, head) {
  onlyFields(root, 'at keyId number previousRoot reservesRoot reservesSnapshot root size'.split(' '), 'the root');
  let last = toNumber(root.size, 'the size of the tree') - 1;
  let index = place;
  holds(Number.isInteger(place) && place >= 0 && place <= last, 'the leaf lies outside the tree');
  holds(Array.isArray(path) && path.length <= 64, 'the path to the root is malformed');
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(seq));
  let hash = sha256(Buffer.of(0), toBytes(salt, 32, 'the salt'), sha256(account), number, head);
  for (const text of path) {
    const sibling = toBytes(text, 32, 'a hash on the path');
    holds(last > 0, 'the path is too long');
    if (index % 2 === 1 || index === last) {
      hash = sha256(Buffer.of(1), sibling, hash);
      for (; index % 2 === 0 && index > 0; index /= 2) last = Math.floor(last / 2);
    } else hash = sha256(Buffer.of(1), hash, sibling);
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  holds(last === 0 && hash.toString('hex') === root.root, 'the path leads to another root than the signed one');
}

function verifySignature({ root, signature }, keys) {
  const key = Array.isArray(keys)
    ? keys.find((one) => one?.id === root.keyId && one?.algorithm === 'Ed25519')
    : undefined;
  holds(key !== undefined, `the key ${root.keyId}, which signed the root, is not published`);
  const x = toBytes(key.publicKey, 32, 'the public key').toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const signed = verify(
    null,
    Buffer.from(canonical(root, 'the root')),
    publicKey,
    toBytes(signature, 64, 'the signature'),
  );
  holds(signed, 'the signature of the root is wrong');
}

/** Asks a node for the anchor's transaction. */
export async function verifyAnchor({ root, anchor }, rpc) {
  holds(isObject(anchor), 'the root is not anchored');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionByHash', params: [anchor.txHash] });
  const answer = await fetch(rpc, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result } = await answer.json();
  holds(isObject(result) && result.blockNumber, `the node does not know the transaction ${anchor.txHash}`);
  const data = `0x${root.root}${root.reservesRoot ?? '0'.repeat(64)}`;
  holds(result.input === data, `the data of the transaction ${anchor.txHash} is not the root`);
}

/** JSON with sorted members and without blanks. Only texts, null, lists and objects: nothing else has one spelling. */
function canonical(value, name) {
  if (typeof value === 'string' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, name)).join(',')}]`;
  holds(isObject(value), `${name} contains something that cannot be hashed`);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key], name)}`).join(',')}}`;
}

function sha256(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function toBytes(hex, length, what) {
  holds(typeof hex === 'string' && hex.length === 2 * length && /^[0-9a-f]*$/.test(hex), `${what} is malformed`);
  return Buffer.from(hex, 'hex');
}

function toNumber(text, what) {
  holds(typeof text === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(text), `${what} is malformed`);
  return Number(text);
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function onlyFields(value, fields, what) {
  holds(isObject(value), `${what} is missing`);
  const given = Object.keys(value).sort().join();
  holds(given === [...fields].sort().join(), `the fields of ${what} are ${given}, not ${fields.join()}`);
}

function holds(condition, otherwise) {
  if (!condition) throw new Unsound(otherwise);
}

async function main(words) {
  const at = words.indexOf('--rpc');
  const rpc = at < 0 ? undefined : words.splice(at, 2)[1];
  if (words[0] === undefined || (at >= 0 && rpc === undefined)) {
    console.error('Usage: node verify-decisions.mjs <decisions.json> [published.json] [--rpc <URL>]');
    return 1;
  }
  try {
    const [file, published] = words.map((path) => JSON.parse(readFileSync(path, 'utf8')));
    const found = verifyDecisions(file, published);
    if (rpc !== undefined) await verifyAnchor(found, rpc);
    const { from, to, sealedTo, root } = found;
    const covers =
      root === undefined
        ? 'No signed root covers them yet'
        : `Root ${root.number}, signed at ${root.at}, covers them up to ${sealedTo}`;
    const keys = published === undefined ? ', by the keys in the file' : '';
    const anchored = rpc === undefined ? '' : `, and is in the transaction ${found.anchor.txHash}`;
    console.log(
      `Verified: records ${from} to ${to} of ${file.account} are complete and unchanged. ${covers}${keys}${anchored}.`,
    );
    return 0;
  } catch (error) {
    console.log(
      `Not verified: ${error instanceof Unsound ? error.message : `a file or a node cannot be read (${error.message})`}.`,
    );
    return 1;
  }
}

// A test imports this file; running it, under whatever name, prints an answer.
const started = process.argv[1];
if (started !== undefined && import.meta.url === pathToFileURL(realpathSync(started)).href) {
  process.exitCode = await main(process.argv.slice(2));
}
