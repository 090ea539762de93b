/** A field of a request, which becomes an argument or an option. */
export interface Field {
  readonly name: string;
  readonly type: 'text' | 'number' | 'flag' | 'json' | 'text or json';
  readonly required?: true;
  readonly choices?: readonly string[];
  /** What the service takes without it. */
  readonly usual?: string;
  readonly description?: string;
}

/** An operation of the service that becomes a command. */
export interface Operation {
  readonly id: string;
  readonly tool?: string;
  readonly title: string;
  /** The namespace and the method of the SDK. */
  readonly method: readonly [namespace: string, name: string];
  /** Takes an Idempotency-Key. */
  readonly keyed?: true;
  /** Moves money, and takes the guard against repeated payments. */
  readonly guarded?: true;
  readonly fields: readonly Field[];
}

/** As much of an operator's command as help and completion show. The command itself loads the service. */
export interface OperatorCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly string[];
  readonly commands: readonly string[];
}
