// Checks that decision records were not changed, removed or reordered. Plain Node, nothing to install:
//
//   curl -H "Authorization: Bearer $KEY" "$URL/api/account/decisions/export" > decisions.json
//   curl "$URL/.well-known/paywright-decisions.json" > published.json
//   node verify-decisions.mjs decisions.json published.json [--rpc <URL of a node of the anchor's chain>]
//
// The first file may also be the proof of one record. Without the second, the keys in the first are believed. The exit
// code is 0 when everything holds. src/policies/decisions/README.md says what is hashed.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

/** Throws with a sentence, or returns which records are there, how many of them only as hashes, and the root that covers them. */
export function verifyDecisions({ checksum, entries, ...beside }, published = beside) {
  holds(entries?.length > 0, 'there are no records in the file');
  holds(sha256(canonical(beside)).toString('hex') === checksum, 'what is beside the records was changed');
  const { account, previous, seal } = beside;
  let [seq, head, sealed] = [Number(previous.seq), bytes(previous.head)];
  holds(seq > 0 || /^0{64}$/.test(previous.head), 'a chain that begins with the first record begins with zeros');
  for (const entry of entries) {
    seq += 1;
    head = verifyEntry(entry, { seq, head });
    if (String(seq) === seal?.seq) sealed = head;
  }
  holds(!entries.some(({ record }) => record && record.account !== account), 'a record is of another account');
  const hidden = entries.filter(({ record }) => !record).length;
  const found = { from: seq - entries.length + 1, to: seq, hidden };
  if (seal === null) return { ...found, sealedTo: 0 };
  holds(sealed !== undefined, `record ${seal.seq}, which the signed root covers, is not in the file`);
  verifyPath(account, seal, sealed);
  verifyRoot(seal, published);
  return { ...found, sealedTo: Number(seal.seq), root: seal.root, anchor: seal.anchor };
}

/** Returns the head of the chain after the entry. */
export function verifyEntry({ record, hash, head: after }, { seq, head }) {
  const isNext = record === undefined ? /^[0-9a-f]{64}$/.test(hash) : record?.seq === String(seq);
  holds(isNext, `record ${seq} is missing: in its place is number ${record?.seq ?? 'unknown'}`);
  const next = sha256(Buffer.of(3), head, record ? sha256(Buffer.of(2), canonical(record)) : bytes(hash));
  holds(next.toString('hex') === after, `record ${seq} was changed, or does not follow the one before it`);
  return next;
}

/** From the account's leaf up to the root. A node without a sibling moves up as it is (RFC 9162, 2.1.3.2). */
function verifyPath(account, { seq, place, salt, path, root }, head) {
  const number = bytes(BigInt(seq).toString(16).padStart(16, '0'));
  let hash = sha256(Buffer.of(0), bytes(salt), sha256(account), number, head);
  let [index, last] = [Number(place), Number(root.size) - 1];
  for (const sibling of path.map(bytes)) {
    for (; index === last && index % 2 === 0 && last > 0; last /= 2) index /= 2;
    hash = sha256(Buffer.of(1), ...(index % 2 === 1 ? [sibling, hash] : [hash, sibling]));
    [index, last] = [Math.floor(index / 2), Math.floor(last / 2)];
  }
  holds(last === 0 && hash.equals(bytes(root.root)), 'the path leads to another root than the signed one');
}

function verifyRoot({ root, signature, anchor }, { keys, anchors }) {
  const key = keys?.find(({ id }) => id === root.keyId);
  holds(key, `the key ${root.keyId}, which signed the root, is not published`);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes(key.publicKey).toString('base64url') };
  const isSigned = verify(null, canonical(root), createPublicKey({ key: jwk, format: 'jwk' }), bytes(signature));
  holds(isSigned, 'the signature of the root is wrong');
  const told = anchors?.find((one) => one.root === root.number) ?? { ...anchor, data: dataOf(root) };
  holds(told.txHash === anchor?.txHash && told.data === dataOf(root), 'the root is published with another anchor');
}

async function verifyAnchor({ root, anchor }, rpc) {
  holds(anchor, 'the root is not anchored');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionByHash', params: [anchor.txHash] });
  const answer = await fetch(rpc, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result } = await answer.json();
  holds(result?.blockNumber, `the node does not know the transaction ${anchor.txHash}`);
  holds(result.input === `0x${dataOf(root)}`, `the data of the transaction ${anchor.txHash} is not the root`);
}

const dataOf = ({ root, reservesRoot }) => root + (reservesRoot ?? '0'.repeat(64));
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const bytes = (hex) => Buffer.from(hex, 'hex');

/** JSON with sorted members and without blanks. Only texts, null, lists and objects: nothing else has one spelling. */
function canonical(value) {
  if (typeof value === 'string' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  holds(typeof value === 'object', 'the file contains something that cannot be hashed');
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

/** Of two members with one name a parser takes the last and a person may read the first, so such a file is refused. */
function read(path) {
  const text = readFileSync(path, 'utf8');
  const isExact = JSON.stringify(JSON.parse(text)) === text.replace(/("(?:\\.|[^"\\])*")|\s+/g, '$1');
  holds(isExact, `${path} names something twice, or is not as the service wrote it`);
  return JSON.parse(text);
}

function holds(condition, otherwise) {
  if (!condition) throw new Error(otherwise);
}

// A test imports this file; running it, under whatever name, prints an answer.
if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { rpc: { type: 'string' } } });
    const [file = {}, published] = positionals.map(read);
    const { from, to, hidden, sealedTo, root, anchor } = verifyDecisions(file, published);
    if (values.rpc !== undefined) await verifyAnchor({ root, anchor }, values.rpc);
    const hashes = hidden > 0 ? `, ${hidden} of them only as hashes` : '';
    const keys = published === undefined ? ', by the keys in the file' : '';
    const sealed = root && `Root ${root.number}, signed at ${root.at}, covers them up to ${sealedTo}${keys}`;
    const anchored = values.rpc === undefined ? '' : `, and is in the transaction ${anchor.txHash}`;
    const end = `${sealed ?? 'No signed root covers them yet'}${anchored}.`;
    console.log(`Verified: records ${from} to ${to} of ${file.account} are complete and unchanged${hashes}. ${end}`);
  } catch ({ message }) {
    console.log(`Not verified: ${message}.`);
    process.exitCode = 1;
  }
}
