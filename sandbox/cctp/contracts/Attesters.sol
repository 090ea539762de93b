// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Owned} from "./Roles.sol";

/// Those who sign messages, and how many of them have to.
abstract contract Attesters is Owned {
    uint256 private constant SIGNATURE_BYTES = 65;
    /// Of the two signatures that there are for everything, the one with the smaller s counts.
    uint256 private constant LARGEST_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    uint256 public signatureThreshold;
    bytes32[] private attesters;
    /// Where each is in the list, counted from one.
    mapping(bytes32 => uint256) private positions;
    address public attesterManager;
    uint256[20] private reserved;

    event AttesterEnabled(address indexed attester);
    event AttesterDisabled(address indexed attester);
    event SignatureThresholdUpdated(uint256 oldSignatureThreshold, uint256 newSignatureThreshold);
    event AttesterManagerUpdated(address indexed previousAttesterManager, address indexed newAttesterManager);

    modifier onlyAttesterManager() {
        require(msg.sender == attesterManager, "Caller not attester manager");
        _;
    }

    function isEnabledAttester(address attester) public view returns (bool) {
        return positions[_key(attester)] != 0;
    }

    function getNumEnabledAttesters() external view returns (uint256) {
        return attesters.length;
    }

    function getEnabledAttester(uint256 index) external view returns (address) {
        require(index < attesters.length, "EnumerableSet: index out of bounds");
        return address(uint160(uint256(attesters[index])));
    }

    function enableAttester(address attester) external onlyAttesterManager {
        _enable(attester);
    }

    function disableAttester(address attester) external onlyAttesterManager {
        uint256 count = attesters.length;
        require(count > 1, "Too few enabled attesters");
        require(count > signatureThreshold, "Signature threshold is too low");
        uint256 position = positions[_key(attester)];
        require(position != 0, "Attester already disabled");
        // The last one takes the place that becomes free.
        bytes32 last = attesters[count - 1];
        attesters[position - 1] = last;
        positions[last] = position;
        attesters.pop();
        delete positions[_key(attester)];
        emit AttesterDisabled(attester);
    }

    function setSignatureThreshold(uint256 newThreshold) external onlyAttesterManager {
        _setThreshold(newThreshold);
    }

    function updateAttesterManager(address newManager) external onlyOwner {
        _setManager(newManager);
    }

    function _setManager(address newManager) internal {
        require(newManager != address(0), "Invalid attester manager address");
        emit AttesterManagerUpdated(attesterManager, newManager);
        attesterManager = newManager;
    }

    function _enable(address attester) internal {
        require(attester != address(0), "New attester must be nonzero");
        require(!isEnabledAttester(attester), "Attester already enabled");
        attesters.push(_key(attester));
        positions[_key(attester)] = attesters.length;
        emit AttesterEnabled(attester);
    }

    function _setThreshold(uint256 newThreshold) internal {
        require(newThreshold != 0, "Invalid signature threshold");
        require(newThreshold <= attesters.length, "New signature threshold too high");
        require(newThreshold != signatureThreshold, "Signature threshold already set");
        emit SignatureThresholdUpdated(signatureThreshold, newThreshold);
        signatureThreshold = newThreshold;
    }

    /// As many signatures as are asked for, by the addresses of their signers, so that nobody counts twice.
    function _requireSigned(bytes calldata message, bytes calldata attestation) internal view {
        uint256 count = signatureThreshold;
        require(attestation.length == count * SIGNATURE_BYTES, "Invalid attestation length");
        bytes32 digest = keccak256(message);
        address before = address(0);
        for (uint256 i = 0; i < count; i++) {
            address signer = _signerOf(digest, attestation[i * SIGNATURE_BYTES:(i + 1) * SIGNATURE_BYTES]);
            require(signer > before, "Invalid signature order or dupe");
            require(isEnabledAttester(signer), "Invalid signature: not attester");
            before = signer;
        }
    }

    function _signerOf(bytes32 digest, bytes calldata signature) private pure returns (address signer) {
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        require(uint256(s) <= LARGEST_S, "ECDSA: invalid signature 's' value");
        require(v == 27 || v == 28, "ECDSA: invalid signature 'v' value");
        signer = ecrecover(digest, v, r, s);
        require(signer != address(0), "ECDSA: invalid signature");
    }

    function _key(address attester) private pure returns (bytes32) {
        return bytes32(uint256(uint160(attester)));
    }
}
