/** Whose key it is, by how it begins. @returns undefined where many providers' keys begin so. */
export const providerOf = <Type extends { readonly key_starts: readonly string[] }>(
  key: string,
  types: readonly Type[],
): Type | undefined => types.find(({ key_starts: starts }) => starts.some((start) => key.trim().startsWith(start)));

const minKeyLength = 20;
/** No name of a provider is so long, or without a space. */
export const isApiKey = (text: string): boolean => text.trim().length >= minKeyLength && !/\s/.test(text.trim());
