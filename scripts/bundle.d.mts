export function bundle(options: { readonly entry: string; readonly outdir: string }): Promise<void>;
