import { setTimeout as sleep } from 'node:timers/promises';
import { createWalletClient, type Hex, http, pad, parseAbi, zeroHash } from 'viem';
import { protocolAccount } from '../../sandbox/accounts.ts';
import { behaviourPath } from '../../sandbox/cctp/attestation-service.ts';
import { cctp, standardFinality } from '../../src/chains/cctp.ts';
import { type ChainId, chains as facts } from '../../src/money/catalogue.ts';
import type { Outsider, TestChains } from './chains.ts';

/** What Circle publishes of its contracts, as far as tests call it. It is written down from there and not from our sources. */
export const cctpAbi = parseAbi([
  'event DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData)',
  'event MintAndWithdraw(address indexed mintRecipient, uint256 amount, address indexed mintToken, uint256 feeCollected)',
  'event MessageSent(bytes message)',
  'event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold)',
  'function depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)',
  'function getMinFeeAmount(uint256 amount) view returns (uint256)',
  'function minFee() view returns (uint256)',
  'function setMinFee(uint256 minFee)',
  'function remoteTokenMessengers(uint32 domain) view returns (bytes32)',
  'function localMessageTransmitter() view returns (address)',
  'function messageBodyVersion() view returns (uint32)',
  'function localMinter() view returns (address)',
  'function isDenylisted(address account) view returns (bool)',
  'function denylist(address account)',
  'function unDenylist(address account)',
  'function initializedVersion() view returns (uint64)',
  'function burnLimitsPerMessage(address token) view returns (uint256)',
  'function setMaxBurnAmountPerMessage(address token, uint256 burnLimitPerMessage)',
  'function getLocalToken(uint32 remoteDomain, bytes32 remoteToken) view returns (address)',
  'function paused() view returns (bool)',
  'function pause()',
  'function unpause()',
  'function receiveMessage(bytes message, bytes attestation) returns (bool)',
  'function sendMessage(uint32 destinationDomain, bytes32 recipient, bytes32 destinationCaller, uint32 minFinalityThreshold, bytes messageBody)',
  'function usedNonces(bytes32 nonce) view returns (uint256)',
  'function localDomain() view returns (uint32)',
  'function version() view returns (uint32)',
  'function getEnabledAttester(uint256 index) view returns (address)',
  'function getNumEnabledAttesters() view returns (uint256)',
  'function isEnabledAttester(address attester) view returns (bool)',
  'function signatureThreshold() view returns (uint256)',
  'function setSignatureThreshold(uint256 threshold)',
  'function burn(address token, uint256 amount)',
]);

export interface Burn {
  readonly from: ChainId;
  readonly to: ChainId;
  readonly atomic: bigint;
  readonly recipient: Hex;
  readonly maxFee?: bigint;
  /** Whoever alone may mint it. */
  readonly caller?: Hex;
  readonly token?: Hex;
}

export function burnArguments({ from, to, atomic, recipient, maxFee = 0n, caller, token }: Burn) {
  return [
    atomic,
    facts[to].domain,
    pad(recipient),
    token ?? facts[from].tokens.USDC,
    caller === undefined ? zeroHash : pad(caller),
    maxFee,
    standardFinality,
  ] as const;
}

export interface Attested {
  readonly message: Hex;
  readonly attestation: Hex;
  readonly status: string;
  readonly decodedMessage: { readonly nonce: Hex };
}

/** The cross-chain protocol, as somebody outside uses it. */
export function useProtocol(chains: TestChains) {
  async function approve(ada: Outsider, { from, atomic }: Burn): Promise<void> {
    await ada.wallet(from).writeContract({
      abi: cctpAbi,
      address: facts[from].tokens.USDC,
      functionName: 'approve',
      args: [cctp.tokenMessenger, atomic],
      chain: null,
    });
  }

  async function ask(path: string): Promise<{ status: number; headers: Headers; body: never }> {
    const response = await fetch(new URL(path, chains.local.attestationUrl));
    return { status: response.status, headers: response.headers, body: (await response.json()) as never };
  }

  const askMessages = (from: ChainId, txHash: Hex) =>
    ask(`/v2/messages/${facts[from].domain}?transactionHash=${txHash}`);

  return {
    ask,
    askMessages,
    approve,
    /** Approves and burns; answers with the hash once it is mined. */
    async burn(ada: Outsider, burn: Burn): Promise<Hex> {
      await approve(ada, burn);
      return ada.wallet(burn.from).writeContract({
        abi: cctpAbi,
        address: cctp.tokenMessenger,
        functionName: 'depositForBurn',
        args: burnArguments(burn),
        chain: null,
      });
    },
    /** Asks until every message of the transaction is attested. */
    async attested(from: ChainId, txHash: Hex): Promise<readonly Attested[]> {
      for (;;) {
        const { status, body } = await askMessages(from, txHash);
        const { messages } = body as { messages?: readonly Attested[] };
        if (status === 200 && messages?.every((one) => one.status === 'complete') === true) return messages;
        await sleep(50);
      }
    },
    mint(grace: Outsider, chain: ChainId, { message, attestation }: Pick<Attested, 'message' | 'attestation'>) {
      return grace.wallet(chain).writeContract({
        abi: cctpAbi,
        address: cctp.messageTransmitter,
        functionName: 'receiveMessage',
        args: [message, attestation],
        chain: null,
      });
    },
    /** What only somebody with a role can do: set a fee or a limit, pause, keep somebody out. */
    async operate(chain: ChainId, contract: keyof typeof cctp, functionName: string, args: readonly unknown[] = []) {
      await chains.rpc(chain, 'hardhat_setBalance', [protocolAccount.address, `0x${(10n ** 20n).toString(16)}`]);
      const [url = ''] = chains.local.settings.get(chain)?.urls ?? [];
      const wallet = createWalletClient({ account: protocolAccount, transport: http(url) });
      await wallet.writeContract({
        abi: cctpAbi,
        address: cctp[contract],
        functionName,
        args,
        chain: null,
      } as never);
    },
    /** How the attestation service behaves from now on; what is not named is as it is by default. */
    async attestationsBehave(behaviour: object): Promise<void> {
      const response = await fetch(new URL(behaviourPath, chains.local.attestationUrl), {
        method: 'PUT',
        body: JSON.stringify(behaviour),
      });
      if (!response.ok) throw new Error(await response.text());
    },
    async attestationsAsked(): Promise<{ readonly total: number; readonly mostInOneSecond: number }> {
      const response = await fetch(new URL(behaviourPath, chains.local.attestationUrl));
      return ((await response.json()) as { asked: { total: number; mostInOneSecond: number } }).asked;
    },
  };
}
