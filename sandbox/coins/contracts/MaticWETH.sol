// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ChildERC20} from "./ChildERC20.sol";

/// Ethereum's coin on Polygon.
contract MaticWETH is ChildERC20 {
    function _id() internal pure override returns (string memory) {
        return "ChildERC20";
    }
}
