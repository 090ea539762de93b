import { type Hex, parseAbi } from 'viem';

/** CCTP version 2. Its contracts have the same addresses on every chain in the catalogue. */
export const cctp = {
  tokenMessenger: '0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d',
  messageTransmitter: '0x81D40F21F12A8F0E3252Bccb954D722d4c464B64',
  tokenMinter: '0xfd78EE919681417d192449715b2594ab58f5D002',
} as const satisfies Record<string, Hex>;

export const tokenMessengerAbi = parseAbi([
  'function depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold)',
  'function getMinFeeAmount(uint256 amount) view returns (uint256)',
]);

export const messageTransmitterAbi = parseAbi([
  'event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)',
  'function receiveMessage(bytes message, bytes attestation) returns (bool)',
  'function usedNonces(bytes32 nonce) view returns (uint256)',
  'function paused() view returns (bool)',
]);

export const tokenMinterAbi = parseAbi([
  'function burnLimitsPerMessage(address token) view returns (uint256)',
  'function paused() view returns (bool)',
]);

/**
 * With this threshold a transfer waits for the source chain's finality. Below it, CCTP may charge a fee for a fast
 * transfer.
 */
export const standardFinality = 2_000;

/** Byte offsets in a CCTP message. The burn message begins at `body`. */
export const messageLayout = {
  version: 0,
  sourceDomain: 4,
  destinationDomain: 8,
  nonce: 12,
  sender: 44,
  recipient: 76,
  destinationCaller: 108,
  body: 148,
} as const;

/** Byte offsets within the body of a burn message, version 2. */
export const burnLayout = {
  version: 0,
  burnToken: 4,
  mintRecipient: 36,
  amount: 68,
  messageSender: 100,
  maxFee: 132,
  feeExecuted: 164,
  expirationBlock: 196,
  hookData: 228,
} as const;
