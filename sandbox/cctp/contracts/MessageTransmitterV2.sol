// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Attesters} from "./Attesters.sol";
import {Pausable, Rescuable, SetUpOnce} from "./Roles.sol";

/// Whoever a message is for.
interface MessageHandler {
    function handleReceiveFinalizedMessage(
        uint32 sourceDomain,
        bytes32 sender,
        uint32 finalityThresholdExecuted,
        bytes calldata messageBody
    ) external returns (bool);

    function handleReceiveUnfinalizedMessage(
        uint32 sourceDomain,
        bytes32 sender,
        uint32 finalityThresholdExecuted,
        bytes calldata messageBody
    ) external returns (bool);
}

/**
 * Tells messages to other chains, and takes those that the attesters have signed there, each once.
 *
 * A message: version 0, sourceDomain 4, destinationDomain 8, nonce 12, sender 44, recipient 76, destinationCaller 108,
 * minFinalityThreshold 140, finalityThresholdExecuted 144, body 148. Nonce and executed finality are left empty when it is
 * told: whoever attests fills them in.
 */
contract MessageTransmitterV2 is SetUpOnce, Pausable, Rescuable, Attesters {
    uint256 public constant NONCE_USED = 1;
    uint256 private constant BODY = 148;
    uint32 private constant FINALIZED = 2000;

    uint32 public immutable localDomain;
    uint32 public immutable version;

    uint256 public maxMessageBodySize;
    mapping(bytes32 => uint256) public usedNonces;

    event MessageSent(bytes message);
    event MessageReceived(
        address indexed caller,
        uint32 sourceDomain,
        bytes32 indexed nonce,
        bytes32 sender,
        uint32 indexed finalityThresholdExecuted,
        bytes messageBody
    );
    event MaxMessageBodySizeUpdated(uint256 newMaxMessageBodySize);

    constructor(uint32 localDomain_, uint32 version_) {
        localDomain = localDomain_;
        version = version_;
    }

    function initialize(
        address owner_,
        address pauser_,
        address rescuer_,
        address attesterManager_,
        address[] calldata attesters_,
        uint256 signatureThreshold_,
        uint256 maxMessageBodySize_
    ) external once {
        require(owner_ != address(0), "Owner is the zero address");
        require(attesterManager_ != address(0), "AttesterManager is the zero address");
        require(signatureThreshold_ <= attesters_.length, "Signature threshold exceeds attesters");
        require(maxMessageBodySize_ > 0, "MaxMessageBodySize is zero");
        _own(owner_);
        _setRescuer(rescuer_);
        _setPauser(pauser_);
        _setManager(attesterManager_);
        _setMaxMessageBodySize(maxMessageBodySize_);
        for (uint256 i = 0; i < attesters_.length; i++) _enable(attesters_[i]);
        _setThreshold(signatureThreshold_);
        // A message that nobody has given a nonce can never be received.
        usedNonces[bytes32(0)] = NONCE_USED;
    }

    function setMaxMessageBodySize(uint256 newMaxMessageBodySize) external onlyOwner {
        _setMaxMessageBodySize(newMaxMessageBodySize);
    }

    function sendMessage(
        uint32 destinationDomain,
        bytes32 recipient,
        bytes32 destinationCaller,
        uint32 minFinalityThreshold,
        bytes calldata messageBody
    ) external whenNotPaused {
        require(destinationDomain != localDomain, "Domain is local domain");
        require(messageBody.length <= maxMessageBodySize, "Message body exceeds max size");
        require(recipient != bytes32(0), "Recipient must be nonzero");
        bytes memory head = abi.encodePacked(version, localDomain, destinationDomain, bytes32(0));
        bytes32 sender = bytes32(uint256(uint160(msg.sender)));
        emit MessageSent(
            abi.encodePacked(
                head,
                sender,
                recipient,
                destinationCaller,
                minFinalityThreshold,
                uint32(0),
                messageBody
            )
        );
    }

    function receiveMessage(
        bytes calldata message,
        bytes calldata attestation
    ) external whenNotPaused returns (bool) {
        _requireSigned(message, attestation);
        require(message.length >= BODY, "Invalid message: too short");
        require(uint32(bytes4(message[8:12])) == localDomain, "Invalid destination domain");
        bytes32 destinationCaller = bytes32(message[108:140]);
        require(
            destinationCaller == bytes32(0) || destinationCaller == bytes32(uint256(uint160(msg.sender))),
            "Invalid caller for message"
        );
        require(uint32(bytes4(message[0:4])) == version, "Invalid message version");
        bytes32 nonce = bytes32(message[12:44]);
        require(usedNonces[nonce] == 0, "Nonce already used");
        // Before anybody else is called, so that nobody comes back with the same message.
        usedNonces[nonce] = NONCE_USED;
        _hand(message, nonce);
        return true;
    }

    function _hand(bytes calldata message, bytes32 nonce) private {
        uint32 sourceDomain = uint32(bytes4(message[4:8]));
        bytes32 sender = bytes32(message[44:76]);
        MessageHandler recipient = MessageHandler(address(uint160(uint256(bytes32(message[76:108])))));
        uint32 finality = uint32(bytes4(message[144:148]));
        bytes calldata body = message[BODY:];
        if (finality < FINALIZED) {
            require(
                recipient.handleReceiveUnfinalizedMessage(sourceDomain, sender, finality, body),
                "handleReceiveUnfinalizedMessage() failed"
            );
        } else {
            require(
                recipient.handleReceiveFinalizedMessage(sourceDomain, sender, finality, body),
                "handleReceiveFinalizedMessage() failed"
            );
        }
        emit MessageReceived(msg.sender, sourceDomain, nonce, sender, finality, body);
    }

    function _setMaxMessageBodySize(uint256 newMaxMessageBodySize) private {
        maxMessageBodySize = newMaxMessageBodySize;
        emit MaxMessageBodySizeUpdated(newMaxMessageBodySize);
    }
}
