// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Who may do what. Every refusal is in the words that callers of the real contracts know, and every variable has the place
// in storage that it has there, so that the code of the real contracts runs on what is stored here.

/// An owner, who hands over in two steps: the next one has to accept.
abstract contract Owned {
    address public owner;
    address public pendingOwner;

    event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    modifier onlyOwner() {
        require(msg.sender == owner, "Ownable: caller is not the owner");
        _;
    }

    function transferOwnership(address newOwner) external onlyOwner {
        pendingOwner = newOwner;
        emit OwnershipTransferStarted(owner, newOwner);
    }

    function acceptOwnership() external {
        require(msg.sender == pendingOwner, "Ownable2Step: caller is not the new owner");
        _own(msg.sender);
    }

    function _own(address newOwner) internal {
        emit OwnershipTransferred(owner, newOwner);
        pendingOwner = address(0);
        owner = newOwner;
    }
}

/// Somebody who can stop the contract, and let it go on.
abstract contract Pausable is Owned {
    address public pauser;
    bool public paused;

    event Pause();
    event Unpause();
    event PauserChanged(address indexed newAddress);

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier onlyPauser() {
        require(msg.sender == pauser, "Pausable: caller is not the pauser");
        _;
    }

    function pause() external onlyPauser {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyPauser {
        paused = false;
        emit Unpause();
    }

    function updatePauser(address newPauser) external onlyOwner {
        _setPauser(newPauser);
    }

    function _setPauser(address newPauser) internal {
        require(newPauser != address(0), "Pausable: new pauser is the zero address");
        pauser = newPauser;
        emit PauserChanged(newPauser);
    }
}

interface Transferable {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// Somebody who can send on what was sent here by mistake.
abstract contract Rescuable is Owned {
    address public rescuer;

    event RescuerChanged(address indexed newRescuer);

    function rescueERC20(address tokenContract, address to, uint256 amount) external {
        require(msg.sender == rescuer, "Rescuable: caller is not the rescuer");
        require(tokenContract.code.length > 0, "Address: call to non-contract");
        (bool done, bytes memory answer) = tokenContract.call(abi.encodeCall(Transferable.transfer, (to, amount)));
        if (!done) {
            require(answer.length > 0, "SafeERC20: low-level call failed");
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        require(answer.length == 0 || abi.decode(answer, (bool)), "SafeERC20: ERC20 operation did not succeed");
    }

    function updateRescuer(address newRescuer) external onlyOwner {
        _setRescuer(newRescuer);
    }

    function _setRescuer(address newRescuer) internal {
        require(newRescuer != address(0), "Rescuable: new rescuer is the zero address");
        rescuer = newRescuer;
        emit RescuerChanged(newRescuer);
    }
}

/// Addresses that may not burn, neither themselves nor through a contract.
abstract contract DenyList is Owned {
    address public denylister;
    mapping(address => uint256) private listed;
    uint256[20] private reserved;

    event DenylisterChanged(address indexed oldDenylister, address indexed newDenylister);
    event Denylisted(address indexed account);
    event UnDenylisted(address indexed account);

    modifier onlyDenylister() {
        require(msg.sender == denylister, "Denylistable: caller is not denylister");
        _;
    }

    modifier notListed() {
        require(listed[msg.sender] == 0 && listed[tx.origin] == 0, "Denylistable: account is on denylist");
        _;
    }

    function isDenylisted(address account) external view returns (bool) {
        return listed[account] == 1;
    }

    function denylist(address account) external onlyDenylister {
        listed[account] = 1;
        emit Denylisted(account);
    }

    function unDenylist(address account) external onlyDenylister {
        listed[account] = 0;
        emit UnDenylisted(account);
    }

    function updateDenylister(address newDenylister) external onlyOwner {
        _setDenylister(newDenylister);
    }

    function _setDenylister(address newDenylister) internal {
        require(newDenylister != address(0), "Denylistable: new denylister is the zero address");
        emit DenylisterChanged(denylister, newDenylister);
        denylister = newDenylister;
    }
}

/// A contract that is set up once, by a call instead of a constructor.
abstract contract SetUpOnce {
    /// Where the usual implementation keeps the version that it was set up with (ERC-7201).
    bytes32 private constant PLACE = 0xf0c57e16840df040f15088dc2f81fe391c3923bec73e23a9662efc9c229c6a00;

    event Initialized(uint64 version);

    modifier once() {
        require(initializedVersion() == 0, "Initializable: invalid initialization");
        assembly {
            sstore(PLACE, 1)
        }
        _;
        emit Initialized(1);
    }

    function initializedVersion() public view returns (uint64 version) {
        assembly {
            version := and(sload(PLACE), 0xffffffffffffffff)
        }
    }
}
