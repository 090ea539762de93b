// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable, Rescuable} from "./Roles.sol";

/// A token that lets those mint and burn whom it has named.
interface MintBurnToken {
    function mint(address to, uint256 amount) external returns (bool);

    function burn(uint256 amount) external;

    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// Which token here stands for which token elsewhere, and how much of one may be burnt at once.
abstract contract TokenPairs {
    mapping(address => uint256) public burnLimitsPerMessage;
    /// By the hash of the other domain and its token.
    mapping(bytes32 => address) public remoteTokensToLocalTokens;
    address public tokenController;

    event TokenPairLinked(address localToken, uint32 remoteDomain, bytes32 remoteToken);
    event TokenPairUnlinked(address localToken, uint32 remoteDomain, bytes32 remoteToken);
    event SetBurnLimitPerMessage(address indexed token, uint256 burnLimitPerMessage);
    event SetTokenController(address tokenController);

    modifier onlyTokenController() {
        require(msg.sender == tokenController, "Caller is not tokenController");
        _;
    }

    function getLocalToken(uint32 remoteDomain, bytes32 remoteToken) public view returns (address) {
        return remoteTokensToLocalTokens[_pair(remoteDomain, remoteToken)];
    }

    function linkTokenPair(
        address localToken,
        uint32 remoteDomain,
        bytes32 remoteToken
    ) external onlyTokenController {
        require(getLocalToken(remoteDomain, remoteToken) == address(0), "Unable to link token pair");
        remoteTokensToLocalTokens[_pair(remoteDomain, remoteToken)] = localToken;
        emit TokenPairLinked(localToken, remoteDomain, remoteToken);
    }

    function unlinkTokenPair(
        address localToken,
        uint32 remoteDomain,
        bytes32 remoteToken
    ) external onlyTokenController {
        require(getLocalToken(remoteDomain, remoteToken) != address(0), "Unable to unlink token pair");
        delete remoteTokensToLocalTokens[_pair(remoteDomain, remoteToken)];
        emit TokenPairUnlinked(localToken, remoteDomain, remoteToken);
    }

    function setMaxBurnAmountPerMessage(
        address localToken,
        uint256 burnLimitPerMessage
    ) external onlyTokenController {
        burnLimitsPerMessage[localToken] = burnLimitPerMessage;
        emit SetBurnLimitPerMessage(localToken, burnLimitPerMessage);
    }

    function _setTokenController(address newController) internal {
        require(newController != address(0), "Invalid token controller address");
        tokenController = newController;
        emit SetTokenController(newController);
    }

    function _pair(uint32 remoteDomain, bytes32 remoteToken) private pure returns (bytes32) {
        return keccak256(abi.encodePacked(remoteDomain, remoteToken));
    }
}

/// Mints and burns for the token messenger, and for nobody else.
contract TokenMinterV2 is TokenPairs, Pausable, Rescuable {
    address public localTokenMessenger;

    event LocalTokenMessengerAdded(address localTokenMessenger);
    event LocalTokenMessengerRemoved(address localTokenMessenger);

    modifier onlyMessenger() {
        require(
            localTokenMessenger != address(0) && msg.sender == localTokenMessenger,
            "Caller not local TokenMessenger"
        );
        _;
    }

    constructor(address tokenController_) {
        _own(msg.sender);
        _setTokenController(tokenController_);
    }

    function mint(
        uint32 sourceDomain,
        bytes32 burnToken,
        address to,
        uint256 amount
    ) external whenNotPaused onlyMessenger returns (address token) {
        token = _tokenFor(sourceDomain, burnToken);
        require(MintBurnToken(token).mint(to, amount), "Mint operation failed");
    }

    function mint(
        uint32 sourceDomain,
        bytes32 burnToken,
        address recipientOne,
        address recipientTwo,
        uint256 amountOne,
        uint256 amountTwo
    ) external whenNotPaused onlyMessenger returns (address token) {
        token = _tokenFor(sourceDomain, burnToken);
        require(MintBurnToken(token).mint(recipientOne, amountOne), "First mint operation failed");
        require(MintBurnToken(token).mint(recipientTwo, amountTwo), "Second mint operation failed");
    }

    function burn(address burnToken, uint256 burnAmount) external whenNotPaused onlyMessenger {
        uint256 limit = burnLimitsPerMessage[burnToken];
        require(limit > 0, "Burn token not supported");
        require(burnAmount <= limit, "Burn amount exceeds per tx limit");
        MintBurnToken(burnToken).burn(burnAmount);
    }

    function addLocalTokenMessenger(address newMessenger) external onlyOwner {
        require(newMessenger != address(0), "Invalid TokenMessenger address");
        require(localTokenMessenger == address(0), "Local TokenMessenger already set");
        localTokenMessenger = newMessenger;
        emit LocalTokenMessengerAdded(newMessenger);
    }

    function removeLocalTokenMessenger() external onlyOwner {
        address removed = localTokenMessenger;
        require(removed != address(0), "No local TokenMessenger is set");
        localTokenMessenger = address(0);
        emit LocalTokenMessengerRemoved(removed);
    }

    function setTokenController(address newController) external onlyOwner {
        _setTokenController(newController);
    }

    function _tokenFor(uint32 sourceDomain, bytes32 burnToken) private view returns (address token) {
        token = getLocalToken(sourceDomain, burnToken);
        require(token != address(0), "Mint token not supported");
    }
}
