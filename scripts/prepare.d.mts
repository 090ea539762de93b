export function prepare(options?: { readonly only?: 'install' }): Promise<void>;
