import { concat, type Hex, keccak256, pad, toHex } from 'viem';
import { cctp } from '../../src/chains/cctp.ts';
import { type ChainId, chainIds, chains } from '../../src/money/catalogue.ts';
import { attesters, feeRecipient, protocolAccount } from '../accounts.ts';
import type { RpcCall } from '../chains/evm-node.ts';
import { allowMinting } from '../chains/place-tokens.ts';
import { codeOf, listed, mapped, type StorageWrite, setCode, setStorage, slotOf } from '../compiled-contracts.ts';

const messageVersion = 1;
const burnMessageVersion = 1;
const mostBodyBytes = 8_192;
/** The limit per burn: ten million USDC. */
const burnLimit = 10_000_000_000_000n;
/** The slot where a contract records its initialization (ERC-7201). */
const setUpSlot = 0xf0c57e16840df040f15088dc2f81fe391c3923bec73e23a9662efc9c229c6a00n;

/**
 * The calls that place each CCTP contract. They write storage directly instead of sending transactions: this also works while a
 * chain does not mine, and it uses no nonce of an already signed mint.
 */
export function placeCctp(chain: ChainId): ReadonlyMap<Hex, () => RpcCall[]> {
  return new Map([
    [cctp.messageTransmitter, () => placeTransmitter(chain)],
    [cctp.tokenMessenger, () => placeMessenger(chain)],
    [cctp.tokenMinter, () => placeMinter(chain)],
  ]);
}

function placeTransmitter(chain: ChainId): RpcCall[] {
  const slot = (variable: string) => slotOf('MessageTransmitterV2', variable);
  const addresses = attesters.map(({ address }) => address);
  return place(
    cctp.messageTransmitter,
    codeOf('MessageTransmitterV2', { localDomain: chains[chain].domain, version: messageVersion }),
    [
      [setUpSlot, 1],
      [slot('owner'), protocolAccount.address],
      [slot('pauser'), protocolAccount.address],
      [slot('rescuer'), protocolAccount.address],
      [slot('attesterManager'), protocolAccount.address],
      ...listed(slot('attesters'), addresses),
      ...addresses.map((address, index): StorageWrite => [mapped(slot('positions'), address), index + 1]),
      [slot('signatureThreshold'), addresses.length],
      [slot('maxMessageBodySize'), mostBodyBytes],
      // A message without a nonce can never be received.
      [mapped(slot('usedNonces'), 0), 1],
    ],
  );
}

function placeMessenger(chain: ChainId): RpcCall[] {
  const slot = (variable: string) => slotOf('TokenMessengerV2', variable);
  return place(
    cctp.tokenMessenger,
    codeOf('TokenMessengerV2', {
      localMessageTransmitter: cctp.messageTransmitter,
      messageBodyVersion: burnMessageVersion,
    }),
    [
      [setUpSlot, 1],
      [slot('owner'), protocolAccount.address],
      [slot('rescuer'), protocolAccount.address],
      [slot('denylister'), protocolAccount.address],
      [slot('minFeeController'), protocolAccount.address],
      [slot('feeRecipient'), feeRecipient],
      [slot('localMinter'), cctp.tokenMinter],
      ...others(chain).map(
        ({ domain }): StorageWrite => [mapped(slot('remoteTokenMessengers'), domain), cctp.tokenMessenger],
      ),
    ],
  );
}

function placeMinter(chain: ChainId): RpcCall[] {
  const slot = (variable: string) => slotOf('TokenMinterV2', variable);
  const usdc = chains[chain].tokens.USDC;
  return [
    ...place(cctp.tokenMinter, codeOf('TokenMinterV2'), [
      [slot('owner'), protocolAccount.address],
      [slot('pauser'), protocolAccount.address],
      [slot('rescuer'), protocolAccount.address],
      [slot('tokenController'), protocolAccount.address],
      [slot('localTokenMessenger'), cctp.tokenMessenger],
      [mapped(slot('burnLimitsPerMessage'), usdc), burnLimit],
      ...others(chain).map(
        ({ domain, tokens }): StorageWrite => [
          mapped(slot('remoteTokensToLocalTokens'), pair(domain, tokens.USDC)),
          usdc,
        ],
      ),
    ]),
    ...allowMinting(usdc, cctp.tokenMinter),
  ];
}

function others(chain: ChainId) {
  return chainIds.filter((id) => id !== chain).map((id) => chains[id]);
}

/** The minter's key for the local token of a remote one. */
function pair(domain: number, token: Hex): Hex {
  return keccak256(concat([toHex(domain, { size: 4 }), pad(token)]));
}

function place(address: Hex, code: Hex, writes: readonly StorageWrite[]): RpcCall[] {
  return [setCode(address, code), ...writes.map((write) => setStorage(address, write))];
}
