// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MessageHandler, MessageTransmitterV2} from "./MessageTransmitterV2.sol";
import {DenyList, Rescuable, SetUpOnce} from "./Roles.sol";
import {MintBurnToken, TokenMinterV2} from "./TokenMinterV2.sol";

/**
 * Burns here and says so, so that the messenger of another chain mints there.
 *
 * The body of its messages: version 0, burnToken 4, mintRecipient 36, amount 68, messageSender 100, maxFee 132,
 * feeExecuted 164, expirationBlock 196, hookData 228. Executed fee and expiration are left empty here: whoever attests fills
 * them in.
 */
contract TokenMessengerV2 is Rescuable, DenyList, SetUpOnce, MessageHandler {
    struct Roles {
        address owner;
        address rescuer;
        address feeRecipient;
        address denylister;
        address tokenMinter;
        address minFeeController;
    }

    struct Burn {
        uint256 amount;
        uint32 destinationDomain;
        bytes32 mintRecipient;
        address burnToken;
        bytes32 destinationCaller;
        uint256 maxFee;
        uint32 minFinalityThreshold;
    }

    /// The minimum fee counts thousandths of a basis point.
    uint256 public constant MIN_FEE_MULTIPLIER = 10_000_000;
    uint256 private constant HOOK_DATA = 228;
    uint32 private constant LOWEST_FINALITY = 500;

    address public immutable localMessageTransmitter;
    uint32 public immutable messageBodyVersion;

    TokenMinterV2 public localMinter;
    mapping(uint32 => bytes32) public remoteTokenMessengers;
    address public feeRecipient;
    address public minFeeController;
    uint256 public minFee;

    event DepositForBurn(
        address indexed burnToken,
        uint256 amount,
        address indexed depositor,
        bytes32 mintRecipient,
        uint32 destinationDomain,
        bytes32 destinationTokenMessenger,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 indexed minFinalityThreshold,
        bytes hookData
    );
    event MintAndWithdraw(
        address indexed mintRecipient,
        uint256 amount,
        address indexed mintToken,
        uint256 feeCollected
    );
    event RemoteTokenMessengerAdded(uint32 domain, bytes32 tokenMessenger);
    event RemoteTokenMessengerRemoved(uint32 domain, bytes32 tokenMessenger);
    event LocalMinterAdded(address localMinter);
    event LocalMinterRemoved(address localMinter);
    event FeeRecipientSet(address feeRecipient);
    event MinFeeControllerSet(address minFeeController);
    event MinFeeSet(uint256 minFee);

    modifier onlyFromMessenger(uint32 domain, bytes32 sender) {
        require(msg.sender == localMessageTransmitter, "Invalid message transmitter");
        require(
            sender != bytes32(0) && remoteTokenMessengers[domain] == sender,
            "Remote TokenMessenger unsupported"
        );
        _;
    }

    constructor(address messageTransmitter, uint32 messageBodyVersion_) {
        require(messageTransmitter != address(0), "MessageTransmitter not set");
        localMessageTransmitter = messageTransmitter;
        messageBodyVersion = messageBodyVersion_;
    }

    function initialize(
        Roles calldata roles,
        uint256 minFee_,
        uint32[] calldata remoteDomains_,
        bytes32[] calldata remoteTokenMessengers_
    ) external once {
        require(roles.owner != address(0), "Owner is the zero address");
        require(remoteDomains_.length == remoteTokenMessengers_.length, "Invalid remote domain configuration");
        _own(roles.owner);
        _setRescuer(roles.rescuer);
        _setDenylister(roles.denylister);
        _setFeeRecipient(roles.feeRecipient);
        _setMinter(roles.tokenMinter);
        _setMinFeeController(roles.minFeeController);
        _setMinFee(minFee_);
        for (uint256 i = 0; i < remoteDomains_.length; i++) {
            _addMessenger(remoteDomains_[i], remoteTokenMessengers_[i]);
        }
    }

    // What anybody may do.

    function depositForBurn(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold
    ) external notListed {
        _burn(
            Burn(
                amount,
                destinationDomain,
                mintRecipient,
                burnToken,
                destinationCaller,
                maxFee,
                minFinalityThreshold
            ),
            ""
        );
    }

    function depositForBurnWithHook(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold,
        bytes calldata hookData
    ) external notListed {
        require(hookData.length > 0, "Hook data is empty");
        _burn(
            Burn(
                amount,
                destinationDomain,
                mintRecipient,
                burnToken,
                destinationCaller,
                maxFee,
                minFinalityThreshold
            ),
            hookData
        );
    }

    function getMinFeeAmount(uint256 amount) external view returns (uint256) {
        if (minFee == 0) return 0;
        require(amount > 1, "Amount too low");
        return _leastFee(amount);
    }

    // What the transmitter hands over.

    function handleReceiveFinalizedMessage(
        uint32 remoteDomain,
        bytes32 sender,
        uint32,
        bytes calldata messageBody
    ) external onlyFromMessenger(remoteDomain, sender) returns (bool) {
        return _mint(remoteDomain, messageBody);
    }

    function handleReceiveUnfinalizedMessage(
        uint32 remoteDomain,
        bytes32 sender,
        uint32 finalityThresholdExecuted,
        bytes calldata messageBody
    ) external onlyFromMessenger(remoteDomain, sender) returns (bool) {
        require(finalityThresholdExecuted >= LOWEST_FINALITY, "Unsupported finality threshold");
        return _mint(remoteDomain, messageBody);
    }

    // What those with a role may do.

    function addRemoteTokenMessenger(uint32 domain, bytes32 tokenMessenger) external onlyOwner {
        _addMessenger(domain, tokenMessenger);
    }

    function removeRemoteTokenMessenger(uint32 domain) external onlyOwner {
        bytes32 removed = remoteTokenMessengers[domain];
        require(removed != bytes32(0), "No TokenMessenger set");
        delete remoteTokenMessengers[domain];
        emit RemoteTokenMessengerRemoved(domain, removed);
    }

    function addLocalMinter(address newLocalMinter) external onlyOwner {
        _setMinter(newLocalMinter);
    }

    function removeLocalMinter() external onlyOwner {
        address removed = address(localMinter);
        require(removed != address(0), "No local minter is set.");
        delete localMinter;
        emit LocalMinterRemoved(removed);
    }

    function setFeeRecipient(address newFeeRecipient) external onlyOwner {
        _setFeeRecipient(newFeeRecipient);
    }

    function setMinFeeController(address newMinFeeController) external onlyOwner {
        _setMinFeeController(newMinFeeController);
    }

    function setMinFee(uint256 newMinFee) external {
        require(msg.sender == minFeeController, "Caller is not the min fee controller");
        _setMinFee(newMinFee);
    }

    function _burn(Burn memory burnt, bytes memory hookData) private {
        require(burnt.amount > 0, "Amount must be nonzero");
        require(burnt.mintRecipient != bytes32(0), "Mint recipient must be nonzero");
        require(burnt.maxFee < burnt.amount, "Max fee must be less than amount");
        require(minFee == 0 || burnt.maxFee >= _leastFee(burnt.amount), "Insufficient max fee");
        bytes32 messenger = remoteTokenMessengers[burnt.destinationDomain];
        require(messenger != bytes32(0), "No TokenMessenger for domain");

        TokenMinterV2 minter = _minter();
        require(
            MintBurnToken(burnt.burnToken).transferFrom(msg.sender, address(minter), burnt.amount),
            "Transfer operation failed"
        );
        minter.burn(burnt.burnToken, burnt.amount);

        MessageTransmitterV2(localMessageTransmitter).sendMessage(
            burnt.destinationDomain,
            messenger,
            burnt.destinationCaller,
            burnt.minFinalityThreshold,
            _bodyOf(burnt, hookData)
        );
        emit DepositForBurn(
            burnt.burnToken,
            burnt.amount,
            msg.sender,
            burnt.mintRecipient,
            burnt.destinationDomain,
            messenger,
            burnt.destinationCaller,
            burnt.maxFee,
            burnt.minFinalityThreshold,
            hookData
        );
    }

    function _bodyOf(Burn memory burnt, bytes memory hookData) private view returns (bytes memory) {
        return
            abi.encodePacked(
                messageBodyVersion,
                uint256(uint160(burnt.burnToken)),
                burnt.mintRecipient,
                burnt.amount,
                uint256(uint160(msg.sender)),
                burnt.maxFee,
                uint256(0),
                uint256(0),
                hookData
            );
    }

    function _mint(uint32 remoteDomain, bytes calldata body) private returns (bool) {
        require(body.length >= HOOK_DATA, "Invalid burn message: too short");
        require(uint32(bytes4(body[0:4])) == messageBodyVersion, "Invalid message body version");
        uint256 expirationBlock = _number(body, 196);
        require(
            expirationBlock == 0 || expirationBlock > block.number,
            "Message expired and must be re-signed"
        );
        uint256 amount = _number(body, 68);
        uint256 fee = _number(body, 164);
        require(fee == 0 || fee < amount, "Fee equals or exceeds amount");
        require(fee <= _number(body, 132), "Fee exceeds max fee");
        address recipient = address(uint160(_number(body, 36)));
        bytes32 burnToken = bytes32(_number(body, 4));

        TokenMinterV2 minter = _minter();
        address token = fee > 0
            ? minter.mint(remoteDomain, burnToken, recipient, feeRecipient, amount - fee, fee)
            : minter.mint(remoteDomain, burnToken, recipient, amount);
        emit MintAndWithdraw(recipient, amount - fee, token, fee);
        return true;
    }

    function _number(bytes calldata body, uint256 start) private pure returns (uint256) {
        return uint256(bytes32(body[start:start + 32]));
    }

    /// Never nothing: where there is a minimum, the smallest transfer pays one unit.
    function _leastFee(uint256 amount) private view returns (uint256) {
        require(amount <= type(uint256).max / minFee, "SafeMath: multiplication overflow");
        uint256 fee = (amount * minFee) / MIN_FEE_MULTIPLIER;
        return fee == 0 ? 1 : fee;
    }

    function _minter() private view returns (TokenMinterV2) {
        require(address(localMinter) != address(0), "Local minter is not set");
        return localMinter;
    }

    function _setMinter(address newLocalMinter) private {
        require(newLocalMinter != address(0), "Zero address not allowed");
        require(address(localMinter) == address(0), "Local minter is already set.");
        localMinter = TokenMinterV2(newLocalMinter);
        emit LocalMinterAdded(newLocalMinter);
    }

    function _setFeeRecipient(address newFeeRecipient) private {
        require(newFeeRecipient != address(0), "Zero address not allowed");
        feeRecipient = newFeeRecipient;
        emit FeeRecipientSet(newFeeRecipient);
    }

    function _setMinFeeController(address newMinFeeController) private {
        require(newMinFeeController != address(0), "Zero address not allowed");
        minFeeController = newMinFeeController;
        emit MinFeeControllerSet(newMinFeeController);
    }

    function _setMinFee(uint256 newMinFee) private {
        require(newMinFee < MIN_FEE_MULTIPLIER, "Min fee too high");
        minFee = newMinFee;
        emit MinFeeSet(newMinFee);
    }

    function _addMessenger(uint32 domain, bytes32 tokenMessenger) private {
        require(tokenMessenger != bytes32(0), "bytes32(0) not allowed");
        require(remoteTokenMessengers[domain] == bytes32(0), "TokenMessenger already set");
        remoteTokenMessengers[domain] = tokenMessenger;
        emit RemoteTokenMessengerAdded(domain, tokenMessenger);
    }
}
