// node scripts/compile-contracts.mjs [--print]: compiles the sandbox's own contracts into the files that are committed
// beside them, so that a start needs no compiler. With --print they are only shown.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import solc from 'solc';
import { Refusal, root, runOrRefuse } from './prepare.mjs';

const rooms = {
  'sandbox/cctp': ['MessageTransmitterV2', 'TokenMessengerV2', 'TokenMinterV2'],
  'sandbox/coins': ['MaticWETH', 'UChildDAI'],
};

await runOrRefuse(async () => {
  for (const [room, contracts] of Object.entries(rooms)) {
    const text = print(compile(join(root, room, 'contracts'), contracts));
    if (process.argv.includes('--print')) process.stdout.write(text);
    else writeFileSync(join(root, room, 'compiled-contracts.json'), text);
  }
});

function compile(folder, contracts) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sol'));
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(files.map((file) => [file, { content: readFileSync(join(folder, file), 'utf8') }])),
    settings: {
      optimizer: { enabled: true, runs: 10_000 },
      evmVersion: 'cancun',
      // Without a hash of the sources at the end, the same code is the same bytes, whatever its comments say.
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: {
        '*': {
          '': ['ast'],
          '*': ['abi', 'evm.deployedBytecode.object', 'evm.deployedBytecode.immutableReferences', 'storageLayout'],
        },
      },
    },
  };
  const { errors = [], contracts: compiled = {}, sources } = JSON.parse(solc.compile(JSON.stringify(input)));
  if (errors.length > 0) throw new Refusal(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  return Object.fromEntries(contracts.map((name) => [name, pick(compiled[`${name}.sol`][name], sources)]));
}

/** One line for each part of an interface, so that a change of one is seen as one. */
function print(compiled) {
  const contracts = Object.entries(compiled).map(([name, { abi, ...rest }]) => {
    const lines = Object.entries(rest)
      .map(([key, value]) => `    "${key}": ${JSON.stringify(value)},\n`)
      .join('');
    const items = abi.map((item) => `      ${JSON.stringify(item)}`).join(',\n');
    return `  "${name}": {\n${lines}    "abi": [\n${items}\n    ]\n  }`;
  });
  return `{\n${contracts.join(',\n')}\n}\n`;
}

/** What the sandbox needs to put a contract in place: where constants and variables go is found by their names. */
function pick({ abi, evm: { deployedBytecode }, storageLayout }, sources) {
  return {
    code: `0x${deployedBytecode.object}`,
    immutables: Object.fromEntries(
      Object.entries(deployedBytecode.immutableReferences)
        .map(([id, places]) => [nameOf(Number(id), sources), places.map(({ start }) => start)])
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
    slots: Object.fromEntries(storageLayout.storage.map(({ label, slot }) => [label, Number(slot)])),
    abi,
  };
}

function nameOf(id, sources) {
  for (const { ast } of Object.values(sources)) {
    for (const { nodes = [] } of ast.nodes) {
      const found = nodes.find((node) => node.id === id);
      if (found !== undefined) return found.name;
    }
  }
  throw new Refusal(`The compiler names a constant ${id} that is in no source.`);
}
