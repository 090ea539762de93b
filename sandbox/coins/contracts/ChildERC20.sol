// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Calls that somebody signed and somebody else sends and pays for.
abstract contract MetaTransactions {
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,address verifyingContract,bytes32 salt)");
    bytes32 private constant CALL_TYPE =
        keccak256("MetaTransaction(uint256 nonce,address from,bytes functionSignature)");

    string public constant ERC712_VERSION = "1";

    mapping(address => uint256) internal _nonces;

    event MetaTransactionExecuted(
        address indexed userAddress,
        address payable indexed relayerAddress,
        bytes functionSignature
    );

    function executeMetaTransaction(
        address userAddress,
        bytes calldata functionSignature,
        bytes32 sigR,
        bytes32 sigS,
        uint8 sigV
    ) external payable returns (bytes memory) {
        require(userAddress != address(0), "NativeMetaTransaction: INVALID_SIGNER");
        bytes32 message = keccak256(
            abi.encode(CALL_TYPE, _nonces[userAddress]++, userAddress, keccak256(functionSignature))
        );
        require(userAddress == ecrecover(_typed(message), sigV, sigR, sigS), "Signer and signature do not match");
        emit MetaTransactionExecuted(userAddress, payable(msg.sender), functionSignature);
        (bool success, bytes memory answer) = address(this).call(abi.encodePacked(functionSignature, userAddress));
        require(success, "Function call not successful");
        return answer;
    }

    function getNonce(address user) external view returns (uint256) {
        return _nonces[user];
    }

    function getChainId() public view returns (uint256) {
        return block.chainid;
    }

    /// Spelt as everybody who signs for these tokens has to spell it. The chain is the salt.
    function getDomainSeperator() public view returns (bytes32) {
        return
            keccak256(
                abi.encode(
                    DOMAIN_TYPE,
                    keccak256(bytes(_domainName())),
                    keccak256(bytes(ERC712_VERSION)),
                    address(this),
                    bytes32(block.chainid)
                )
            );
    }

    function _domainName() internal view virtual returns (string memory);

    function _typed(bytes32 message) internal view returns (bytes32) {
        return keccak256(abi.encodePacked("\x19\x01", getDomainSeperator(), message));
    }

    /// Who calls: at the end of a call that the contract makes to itself stands who signed it.
    function _caller() internal view returns (address) {
        return msg.sender == address(this) ? address(bytes20(msg.data[msg.data.length - 20:])) : msg.sender;
    }
}

/// A token that came over Polygon's bridge: whoever pays into it on Ethereum gets it here from a depositor, and whoever
/// wants to go back burns it. It is plain otherwise: no transfer by authorization, and no approval that never sinks.
abstract contract ChildERC20 is MetaTransactions {
    bytes32 public constant DEFAULT_ADMIN_ROLE = 0x00;
    bytes32 public constant DEPOSITOR_ROLE = keccak256("DEPOSITOR_ROLE");

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint256 public totalSupply;
    string public name;
    string public symbol;
    uint8 public decimals;
    mapping(bytes32 => mapping(address => bool)) public hasRole;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
    event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);

    function deposit(address user, bytes calldata depositData) external {
        require(hasRole[DEPOSITOR_ROLE][_caller()], string(abi.encodePacked(_id(), ": INSUFFICIENT_PERMISSIONS")));
        uint256 amount = abi.decode(depositData, (uint256));
        require(user != address(0), "ERC20: mint to the zero address");
        totalSupply = _sum(totalSupply, amount);
        balanceOf[user] += amount;
        emit Transfer(address(0), user, amount);
    }

    function withdraw(uint256 amount) external {
        address from = _caller();
        balanceOf[from] = _rest(balanceOf[from], amount, "ERC20: burn amount exceeds balance");
        totalSupply -= amount;
        emit Transfer(from, address(0), amount);
    }

    function transfer(address recipient, uint256 amount) external returns (bool) {
        _transfer(_caller(), recipient, amount);
        return true;
    }

    function transferFrom(address sender, address recipient, uint256 amount) public returns (bool) {
        _transfer(sender, recipient, amount);
        uint256 given = allowance[sender][_caller()];
        _approve(sender, _caller(), _rest(given, amount, "ERC20: transfer amount exceeds allowance"));
        return true;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        _approve(_caller(), spender, amount);
        return true;
    }

    function increaseAllowance(address spender, uint256 addedValue) external returns (bool) {
        _approve(_caller(), spender, _sum(allowance[_caller()][spender], addedValue));
        return true;
    }

    function decreaseAllowance(address spender, uint256 subtractedValue) external returns (bool) {
        uint256 given = allowance[_caller()][spender];
        _approve(_caller(), spender, _rest(given, subtractedValue, "ERC20: decreased allowance below zero"));
        return true;
    }

    function grantRole(bytes32 role, address account) external {
        require(hasRole[DEFAULT_ADMIN_ROLE][_caller()], "AccessControl: sender must be an admin to grant");
        if (hasRole[role][account]) return;
        hasRole[role][account] = true;
        emit RoleGranted(role, account, _caller());
    }

    function revokeRole(bytes32 role, address account) external {
        require(hasRole[DEFAULT_ADMIN_ROLE][_caller()], "AccessControl: sender must be an admin to revoke");
        if (!hasRole[role][account]) return;
        hasRole[role][account] = false;
        emit RoleRevoked(role, account, _caller());
    }

    /// How it calls itself when it refuses somebody.
    function _id() internal view virtual returns (string memory);

    function _domainName() internal view override returns (string memory) {
        return name;
    }

    function _transfer(address sender, address recipient, uint256 amount) private {
        require(sender != address(0), "ERC20: transfer from the zero address");
        require(recipient != address(0), "ERC20: transfer to the zero address");
        balanceOf[sender] = _rest(balanceOf[sender], amount, "ERC20: transfer amount exceeds balance");
        balanceOf[recipient] += amount;
        emit Transfer(sender, recipient, amount);
    }

    function _approve(address owner, address spender, uint256 amount) internal {
        require(owner != address(0), "ERC20: approve from the zero address");
        require(spender != address(0), "ERC20: approve to the zero address");
        allowance[owner][spender] = amount;
        emit Approval(owner, spender, amount);
    }

    function _sum(uint256 one, uint256 other) private pure returns (uint256 sum) {
        unchecked {
            sum = one + other;
        }
        require(sum >= one, "SafeMath: addition overflow");
    }

    function _rest(uint256 from, uint256 amount, string memory refusal) private pure returns (uint256) {
        require(amount <= from, refusal);
        unchecked {
            return from - amount;
        }
    }
}
