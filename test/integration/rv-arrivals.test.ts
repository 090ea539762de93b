import { encodeAbiParameters, encodeEventTopics, type Hex, pad } from 'viem';
import { expect, test } from 'vitest';
import { planStep } from '../../src/chain-steps/plan-step.ts';
import { messageReceivedAbi, messageTransmitter, proofsOf } from '../../src/chain-steps/receipt-proofs.ts';
import { settleStep } from '../../src/chain-steps/settle-step.ts';
import { tokenAbi } from '../../src/chains/abi.ts';
import { chains as facts } from '../../src/chains/chains.ts';
import { houseAccount } from '../../src/ledger/account-id.ts';
import { houseWallet } from '../../src/wallets/house-wallets.ts';
import { stranger } from '../contract/workbench.ts';
import { readUp, useDepositWorld } from '../support/deposits.ts';

const world = useDepositWorld();

const transferLog = (from: Hex, to: Hex, value: bigint) => ({
  address: facts.MATIC.tokens.USDC as Hex,
  topics: encodeEventTopics({ abi: tokenAbi, eventName: 'Transfer', args: { from, to } }) as [Hex, ...Hex[]],
  data: encodeAbiParameters([{ type: 'uint256' }], [value]),
});

test('dust that a stranger sends in the transaction that delivers a message is not what the message brings', () => {
  const treasury = stranger();
  const nonce = pad('0x77', { size: 32 });
  const logs = [
    transferLog(stranger(), treasury, 1n), // the relayer, who is anybody, puts this in front
    transferLog('0x0000000000000000000000000000000000000000', treasury, 50_000_000n),
    {
      address: messageTransmitter as Hex,
      topics: encodeEventTopics({
        abi: messageReceivedAbi,
        eventName: 'MessageReceived',
        args: { caller: stranger(), nonce, finalityThresholdExecuted: 2000 },
      }) as [Hex, ...Hex[]],
      data: encodeAbiParameters(
        [{ type: 'uint32' }, { type: 'bytes32' }, { type: 'bytes' }],
        [7, pad('0x01', { size: 32 }), '0x'],
      ),
    },
  ];
  expect(proofsOf(logs, 1)).toEqual([`cctp:7:${nonce}`]);
  expect(proofsOf(logs, 0)).toEqual([]);
});

test('what failed for good keeps nothing waiting for ever', async () => {
  const { database, chains } = world;
  const { db } = database;
  await readUp(world.reader('MATIC'));
  await db.query('UPDATE chain_cursors SET leased_until = now()');
  const treasury = await houseWallet(db, 'treasury', 'MATIC');
  await db.transaction(async (tx) => {
    await planStep(tx, {
      saga: 'bridge',
      sagaId: 'brg_1',
      step: 'burn',
      chain: 'MATIC',
      wallet: treasury,
      arrives: [
        {
          chain: 'MATIC',
          address: treasury.address,
          asset: 'USDC',
          account: houseAccount('receivables', 'USDC', 'MATIC'),
          knownBy: { proof: null },
        },
      ],
    });
    await tx.query("UPDATE chain_steps SET state = 'asked', asked_at = now() WHERE saga_id = 'brg_1'");
    await settleStep(tx, { sagaId: 'brg_1', step: 'burn' }, { state: 'failed', reason: 'refused', gasCost: 0n });
  });
  const outsider = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 5_000_000n }] });
  await outsider.sendToken({ asset: 'USDC', to: treasury.address, atomic: 5_000_000n });
  await chains.mine('MATIC', 2);
  await readUp(world.reader('MATIC'));
  const { rows } = await db.query('SELECT atomic FROM undecided_arrivals');
  expect(rows).toEqual([]);
});
