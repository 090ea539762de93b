import { handleSaga, type SagaHandler } from '../../kernel/sagas/run-saga.ts';
import { attestationStep } from './await-attestation.ts';
import { findBridge } from './bridge.ts';
import { burn } from './burn.ts';
import { approveBurn, fillBurner } from './fill-burner.ts';
import { returnToTreasury } from './give-back.ts';
import { mint } from './mint.ts';
import type { BridgeParts } from './parts.ts';
import { bridgeSaga } from './saga.ts';

export function bridgeHandler(parts: BridgeParts): SagaHandler {
  return handleSaga(bridgeSaga, (id) => findBridge(parts.db, id), {
    pending: (bridge) => fillBurner(parts, bridge),
    approving: (bridge) => approveBurn(parts, bridge),
    burning: (bridge) => burn(parts, bridge),
    waiting_attestation: attestationStep(parts),
    minting: (bridge) => mint(parts, bridge),
    returning: (bridge) => returnToTreasury(parts, bridge),
  });
}
