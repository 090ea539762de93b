import { type Hex, parseAbi } from 'viem';

/** Uniswap v3 on Polygon. */
export const uniswap = {
  factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
  /** QuoterV2 makes the swap and reverts, to report what it would pay. */
  quoter: '0x61fFE014bA17989E743c5F6cB21bF9697530B21e',
  /** SwapRouter02. */
  router: '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45',
} as const satisfies Record<string, Hex>;

/** Unlike Multicall3, Uniswap's multicall limits and reports the gas of each call. */
export const uniswapMulticall: Hex = '0x1F98415757620B543A52E61c46B32eB19261F984';

/** Circle's token contract, reduced to what we call. */
export const tokenAbi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function balanceOf(address owner) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);

/** Changes by a difference, so that two concurrent changes of one allowance do not overwrite each other. */
export const allowanceAbi = parseAbi([
  'function allowance(address owner, address spender) view returns (uint256)',
  'function increaseAllowance(address spender, uint256 increment) returns (bool)',
  'function decreaseAllowance(address spender, uint256 decrement) returns (bool)',
]);

/** Multicall3 has the same address on every chain. */
export const multicallAddress = '0xcA11bde05977b3631167028862bE2a173976CA11';

export const multicallAbi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
]);
