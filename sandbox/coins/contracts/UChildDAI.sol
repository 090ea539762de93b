// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ChildERC20} from "./ChildERC20.sol";

/// DAI on Polygon. It can be approved by signature in DAI's own way: all or nothing, and not as EIP-2612 has it.
contract UChildDAI is ChildERC20 {
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)");

    function push(address usr, uint256 wad) external {
        transferFrom(msg.sender, usr, wad);
    }

    function pull(address usr, uint256 wad) external {
        transferFrom(usr, msg.sender, wad);
    }

    function move(address src, address dst, uint256 wad) external {
        transferFrom(src, dst, wad);
    }

    function permit(
        address holder,
        address spender,
        uint256 nonce,
        uint256 expiry,
        bool allowed,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        require(holder != address(0), "UChildDAI: HOLDER-ZERO");
        bytes32 message = keccak256(abi.encode(PERMIT_TYPEHASH, holder, spender, nonce, expiry, allowed));
        require(holder == ecrecover(_typed(message), v, r, s), "UChildDAI: INVALID-PERMIT");
        require(expiry == 0 || block.timestamp <= expiry, "UChildDAI: PERMIT-EXPIRED");
        require(nonce == _nonces[holder]++, "UChildDAI: INVALID-NONCE");
        require(msg.sender != address(this), "UChildDAI: PERMIT_META_TX_DISABLED");
        _approve(holder, spender, allowed ? type(uint256).max : 0);
    }

    function _id() internal view override returns (string memory) {
        return string(abi.encodePacked("Child", symbol));
    }
}
