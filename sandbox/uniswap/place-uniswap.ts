import { concat, encodeFunctionData, type Hex, maxUint256, pad, parseAbi, toHex, zeroAddress } from 'viem';
import { uniswap, uniswapMulticall } from '../../src/chains/abi.ts';
import { wrappedCoin } from '../../src/chains/wrapped-coin.ts';
import { chains, coins, homeChain } from '../../src/money/catalogue.ts';
import { marketMaker } from '../accounts.ts';
import { readArtifact } from '../chains/contract-code.ts';
import { createEvmNode, type EvmNode, type RpcCall } from '../chains/evm-node.ts';
import { result } from '../chains/execute-entry.ts';
import { askChain, isFree, type LocalChain, requestAllAs } from '../chains/local-chain.ts';
import { allowDeposits, allowMinting } from '../chains/place-tokens.ts';
import { bridgedTokens } from '../chains/tokens.ts';
import { setCode, setStorage } from '../compiled-contracts.ts';
import { type Pool, pools, type Traded, tickSpacings, tradedTokens, worth } from './pools.ts';

interface Construction {
  readonly address: Hex;
  readonly creation: Hex;
  /** The constructor's arguments, all addresses. */
  readonly given: readonly Hex[];
}

interface StateChange {
  readonly post: Readonly<Record<string, { readonly storage?: Readonly<Record<string, Hex>> }>>;
}

/**
 * The calls that place contracts as their constructors would leave them. Each constructor runs on a temporary node at the final
 * address: it returns the code with immutables, and a trace gives the storage that it wrote. The chain itself sees no
 * transaction.
 */
async function constructAll(
  constructions: readonly Construction[],
  { chainId, by }: { readonly chainId: number; readonly by: Hex },
): Promise<RpcCall[]> {
  const node = await createEvmNode({ chainId, genesisTime: 0, richAccount: by });
  const calls: RpcCall[] = [];
  for (const construction of constructions) calls.push(...(await construct(node, construction, by)));
  return calls;
}

async function construct(node: EvmNode, { address, creation, given }: Construction, by: Hex): Promise<RpcCall[]> {
  const data = concat([creation, ...given.map((argument) => pad(argument))]);
  await result(node, 'hardhat_setCode', [address, data]);
  const call = { from: by, to: address, gas: toHex(30_000_000) };
  const code = await result<Hex>(node, 'eth_call', [call, 'latest']);
  const tracer = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };
  const { post } = await result<StateChange>(node, 'debug_traceCall', [call, 'latest', tracer]);
  const written = Object.entries(post[address.toLowerCase()]?.storage ?? {});
  return [setCode(address, code), ...written.map(([slot, value]) => setStorage(address, [BigInt(slot), value]))];
}

/** Real addresses that only the sandbox needs. */
export const positionManager: Hex = '0xC36442b4a4522E871399CD717aBDD847Ab11FE88';
const positionDescriptor: Hex = '0x91ae842A5Ffd8d12023116943e72A606179294f3';

const { native } = chains[homeChain];

/** In USDC per side: a trade of ten thousand moves the price by 0.1 %. */
const poolDepth = 20_000_000n;
/** The market maker's stock of each token, in USDC. */
const inventory = 2_000_000_000n;
const gasCoin = 10n ** 24n;

const abi = parseAbi([
  'function enableFeeAmount(uint24 fee, int24 tickSpacing)',
  'function mint(address to, uint256 amount) returns (bool)',
  'function deposit(address user, bytes depositData)',
  'function deposit() payable',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function multicall(bytes[] data) payable returns (bytes[] results)',
  'function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96) payable returns (address pool)',
]);
const liquidityAbi = parseAbi([
  'struct MintParams { address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline; }',
  'function mint(MintParams params) payable',
  'function liquidity() view returns (uint128)',
]);

/**
 * Uniswap v3 on Polygon, with pools at the sandbox's prices. One journal write makes it all or nothing. The contracts need no
 * transaction; the pools do, and the market maker sends these, so that they use no nonce of an already signed mint. On a chain
 * that does not mine they stay pending.
 */
export async function placeUniswap(chain: LocalChain): Promise<void> {
  if (chain.id !== homeChain || !(await isFree(chain, uniswap.factory))) return;
  const enableFee = encodeFunctionData({ abi, functionName: 'enableFeeAmount', args: [100, tickSpacings[100]] });
  const calls = [
    ...(await placeContracts()),
    ...equip(),
    ...buyTokens(),
    send(uniswap.factory, enableFee),
    ...pools.map(openPool),
  ];
  await requestAllAs(chain, marketMaker.address, calls, 'Uniswap could not be placed');
  if (!(await askChain<boolean>(chain, 'hardhat_getAutomine'))) return;
  const data = encodeFunctionData({ abi: liquidityAbi, functionName: 'liquidity' });
  for (const { address, assets } of pools) {
    const liquidity = await askChain<Hex>(chain, 'eth_call', [{ to: address, data }, 'latest']);
    if (liquidity === '0x' || BigInt(liquidity) === 0n) throw new Error(`there is no pool for ${assets.join(' and ')}`);
  }
}

function placeContracts(): Promise<RpcCall[]> {
  const { factory, quoter, router } = uniswap;
  const core = '@uniswap/v3-core/artifacts/contracts';
  const periphery = '@uniswap/v3-periphery/artifacts/contracts';
  const routers = '@uniswap/swap-router-contracts/artifacts/contracts';
  const at = (address: Hex, folder: string, name: string, given: readonly Hex[] = []): Construction => ({
    address,
    creation: readArtifact(`${folder}/${name}.sol/${name}`).bytecode,
    given,
  });
  return constructAll(
    [
      at(factory, core, 'UniswapV3Factory'),
      at(positionManager, periphery, 'NonfungiblePositionManager', [factory, wrappedCoin, positionDescriptor]),
      at(quoter, `${periphery}/lens`, 'QuoterV2', [factory, wrappedCoin]),
      // No Uniswap v2 factory.
      at(router, routers, 'SwapRouter02', [zeroAddress, factory, positionManager, wrappedCoin]),
      at(uniswapMulticall, `${periphery}/lens`, 'UniswapInterfaceMulticall'),
    ],
    { chainId: chains[homeChain].chainId, by: marketMaker.address },
  );
}

/** Gives the market maker native coin and the right to mint its tokens. */
function equip(): RpcCall[] {
  return [
    {
      method: 'hardhat_setBalance',
      params: [marketMaker.address, toHex(stockOf(native) + gasCoin)],
    },
    ...allowMinting(tradedTokens.USDC, marketMaker.address),
    ...bridgedTokens(homeChain).map((token) => allowDeposits(token, marketMaker.address)),
  ];
}

function buyTokens(): RpcCall[] {
  const { address: maker } = marketMaker;
  const deposit = (asset: Traded) =>
    encodeFunctionData({ abi, functionName: 'deposit', args: [maker, pad(toHex(stockOf(asset)))] });
  const approve = (spender: Hex) => encodeFunctionData({ abi, functionName: 'approve', args: [spender, maxUint256] });
  return [
    send(tradedTokens.USDC, encodeFunctionData({ abi, functionName: 'mint', args: [maker, stockOf('USDC')] })),
    ...coins.filter((coin) => coin !== native).map((coin) => send(tradedTokens[coin], deposit(coin))),
    send(wrappedCoin, encodeFunctionData({ abi, functionName: 'deposit' }), { value: stockOf(native) }),
    ...Object.values(tradedTokens).flatMap((token) => [
      send(token, approve(positionManager)),
      send(token, approve(uniswap.router)),
    ]),
  ];
}

function stockOf(asset: Traded): bigint {
  return worth(asset, inventory);
}

/** Opens the pool at its price with full-range liquidity. */
function openPool({ assets, fee, reference }: Pool): RpcCall {
  const [token0, token1] = [tradedTokens[assets[0]], tradedTokens[assets[1]]];
  const lastTick = Math.floor(887_272 / tickSpacings[fee]) * tickSpacings[fee];
  const open = encodeFunctionData({
    abi,
    functionName: 'createAndInitializePoolIfNecessary',
    args: [token0, token1, fee, reference],
  });
  const fill = encodeFunctionData({
    abi: liquidityAbi,
    functionName: 'mint',
    args: [
      {
        token0,
        token1,
        fee,
        tickLower: -lastTick,
        tickUpper: lastTick,
        amount0Desired: worth(assets[0], poolDepth),
        amount1Desired: worth(assets[1], poolDepth),
        amount0Min: 0n,
        amount1Min: 0n,
        recipient: marketMaker.address,
        deadline: maxUint256,
      },
    ],
  });
  const data = encodeFunctionData({ abi, functionName: 'multicall', args: [[open, fill]] });
  return send(positionManager, data, { gas: 7_000_000n });
}

/** The gas limits are tight, so that all transactions fit into one block. */
function send(to: Hex, data: Hex, { value = 0n, gas = 250_000n } = {}): RpcCall {
  const { address: from } = marketMaker;
  return { method: 'eth_sendTransaction', params: [{ from, to, data, value: toHex(value), gas: toHex(gas) }] };
}
