// Checks a proof that a balance is part of what the service says it owes. Plain Node, no network, nothing to install:
//
//   curl -H "Authorization: Bearer $KEY" "$URL/api/account/proof" > proof.json
//   curl "$URL/api/reserves" > reserves.json
//   node verify-proof.mjs proof.json reserves.json
//
// Instead of reserves.json a root may be given that you have from elsewhere. One line says what was found; the exit code
// is 0 when everything holds and 1 when anything does not. What is hashed is written down in src/custody/reserves/README.md.
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const decimals = { USDC: 6, EURC: 6, DAI: 18, ETH: 18, MATIC: 18, AVAX: 18 };
const sumLimit = 2n ** 128n;
const deepest = 32;

class Unsound extends Error {}

/** Throws Unsound with a sentence, or answers what was proven, one text for each balance. */
export function verifyProof(proof, published) {
  holds(isObject(proof), 'this is not a proof');
  const { snapshotId, at, owner, proofs } = proof;
  onlyFields(proof, ['snapshotId', 'at', 'owner', 'proofs']);
  for (const text of [snapshotId, at, owner])
    holds(typeof text === 'string' && text !== '', 'a name or time is missing');
  holds(
    Array.isArray(proofs) && proofs.length > 0,
    `nothing is owed to ${owner} according to this, so it proves nothing`,
  );
  const names = proofs.map((tree) => `${tree?.chain}/${tree?.asset}`);
  holds(new Set(names).size === names.length, 'a chain and asset appears twice');
  const proven = proofs.map((tree) => verifyTree({ snapshotId, at, owner }, tree));
  if (published !== undefined) matchPublished(proof, published);
  return proven;
}

function verifyTree({ snapshotId, at, owner }, tree) {
  holds(isObject(tree), 'a proof is missing');
  onlyFields(tree, ['chain', 'asset', 'balance', 'root', 'total', 'leaves']);
  const { chain, asset, leaves } = tree;
  holds(typeof chain === 'string' && Object.hasOwn(decimals, asset), 'the chain or asset is unknown');
  const name = `${asset} on ${chain}`;
  const balance = toAtomic(tree.balance, asset, `the balance in ${name}`);
  const total = toAtomic(tree.total, asset, `the total of ${name}`);
  holds(Array.isArray(leaves) && leaves.length > 0, `${name} has no leaves`);
  const depth = leaves[0]?.branch?.length;
  holds(Number.isInteger(depth) && depth >= 1 && depth <= deepest, `a branch of ${name} has an impossible length`);

  const texts = ['paywright reserves 1', snapshotId, at, chain, asset].map((text) => sha256(Buffer.from(text)));
  const tag = sha256(Buffer.of(3), ...texts, Buffer.of(depth));
  const tops = leaves.map((leaf) =>
    verifyBranch({ tag, depth, owner, balance, count: leaves.length, asset, name }, leaf),
  );
  const places = new Set(leaves.map(({ index }) => index));
  holds(places.size === leaves.length, `a leaf of ${name} is counted twice`);
  holds(tops.reduce((sum, { amount }) => sum + amount, 0n) === balance, `the leaves of ${name} are not the balance`);
  for (const top of tops) {
    holds(top.sum === total, `a branch of ${name} leads to another total`);
    const root = sha256(Buffer.of(4), tag, top.hash, toSixteenBytes(top.sum));
    holds(root.toString('hex') === tree.root, `a branch of ${name} leads to another root`);
  }
  return `${tree.balance} ${name}`;
}

/** Walks from a leaf to the top, and answers the top's hash and sum. */
function verifyBranch({ tag, depth, owner, balance, count, asset, name }, leaf) {
  onlyFields(leaf, ['index', 'amount', 'nonce', 'ownerSalt', 'branch']);
  const { index, branch } = leaf;
  holds(Number.isInteger(index) && index >= 0 && index < 2 ** depth, `a leaf of ${name} lies outside the tree`);
  holds(Array.isArray(branch) && branch.length === depth, `the branches of ${name} differ in length`);
  const amount = toAtomic(leaf.amount, asset, `a leaf of ${name}`);
  const salt = toBytes(leaf.ownerSalt, 16, `a salt of ${name}`);
  const nonce = toBytes(leaf.nonce, 16, `a nonce of ${name}`);
  const ownerHash = sha256(
    Buffer.of(2),
    tag,
    salt,
    sha256(Buffer.from(owner)),
    toSixteenBytes(balance),
    toFourBytes(count),
  );
  let hash = sha256(Buffer.of(0), tag, toFourBytes(index), ownerHash, toSixteenBytes(amount), nonce);
  let sum = amount;
  for (const [step, sibling] of branch.entries()) {
    onlyFields(sibling, ['hash', 'sum', 'side']);
    const isLeft = Math.floor(index / 2 ** step) % 2 === 0;
    holds(sibling.side === (isLeft ? 'right' : 'left'), `a branch of ${name} turns the wrong way`);
    const own = Buffer.concat([hash, toSixteenBytes(sum)]);
    const siblingSum = toAtomic(sibling.sum, asset, `a sum beside a branch of ${name}`);
    const other = Buffer.concat([toBytes(sibling.hash, 32, `a hash of ${name}`), toSixteenBytes(siblingSum)]);
    hash = sha256(Buffer.of(1), ...(isLeft ? [own, other] : [other, own]));
    sum += siblingSum;
    holds(sum < sumLimit, `the sums of ${name} are larger than anything`);
  }
  return { amount, hash, sum };
}

/** `published` is what /reserves answers, or one root. */
function matchPublished({ snapshotId, at, proofs }, published) {
  if (typeof published === 'string') {
    const found = proofs.some(({ root }) => root === published.toLowerCase());
    holds(found, 'the proof leads to another root than the one given');
    return;
  }
  const roots = isObject(published) && isObject(published.proof) ? published.proof.roots : undefined;
  holds(Array.isArray(roots), 'nothing is published to compare with');
  const another = 'what is published is another snapshot; ask /reserves?snapshotId=… for the one of the proof';
  holds(published.proof.snapshotId === snapshotId, another);
  holds(published.proof.at === at, 'the time is not the one that is published');
  for (const { chain, asset, root, total } of proofs) {
    const same = roots.filter((other) => other?.chain === chain && other?.asset === asset);
    holds(same.length === 1 && same[0].root === root, `the root of ${asset} on ${chain} is not the one published`);
    holds(same[0].total === total, `the total of ${asset} on ${chain} is not the one published`);
  }
}

function sha256(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Only the shortest decimal text is taken, so that there is one way to write an amount. */
function toAtomic(text, asset, what) {
  const match = typeof text === 'string' && text.length <= 60 ? /^(0|[1-9]\d*)(?:\.(\d*[1-9]))?$/.exec(text) : null;
  holds(match !== null && (match[2] ?? '').length <= decimals[asset], `${what} is not an amount`);
  const atomic = BigInt(match[1] + (match[2] ?? '').padEnd(decimals[asset], '0'));
  holds(atomic < sumLimit, `${what} is larger than anything`);
  return atomic;
}

function toBytes(hex, length, what) {
  holds(typeof hex === 'string' && hex.length === 2 * length && /^[0-9a-f]*$/.test(hex), `${what} is malformed`);
  return Buffer.from(hex, 'hex');
}

function toSixteenBytes(sum) {
  return Buffer.from(sum.toString(16).padStart(32, '0'), 'hex');
}

function toFourBytes(number) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function onlyFields(value, fields) {
  holds(isObject(value), 'something is missing');
  const given = Object.keys(value).sort().join();
  holds(given === [...fields].sort().join(), `the fields are ${given}, not ${fields.join()}`);
}

function holds(condition, otherwise) {
  if (!condition) throw new Unsound(otherwise);
}

function main([proofFile, published]) {
  if (proofFile === undefined) {
    console.error('Usage: node verify-proof.mjs <proof.json> [reserves.json or root]');
    return 1;
  }
  try {
    const proof = JSON.parse(readFileSync(proofFile, 'utf8'));
    const isRoot = published !== undefined && /^[0-9a-fA-F]{64}$/.test(published);
    const compared = published === undefined || isRoot ? published : JSON.parse(readFileSync(published, 'utf8'));
    const proven = verifyProof(proof, compared);
    const against = compared === undefined ? 'the roots it names; compare them with /reserves' : 'the published root';
    console.log(`Proven: ${proven.join(', ')} of ${proof.owner}, at ${proof.at}, is part of ${against}.`);
    return 0;
  } catch (error) {
    console.log(
      `Not proven: ${error instanceof Unsound ? error.message : `the file cannot be read (${error.message})`}.`,
    );
    return 1;
  }
}

// A test imports this file; running it, under whatever name, prints an answer.
const started = process.argv[1];
if (started !== undefined && import.meta.url === pathToFileURL(realpathSync(started)).href) {
  process.exitCode = main(process.argv.slice(2));
}
