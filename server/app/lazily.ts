/**
 * An object whose members are made when they are first asked for, each once; copying it makes all.
 * @param makers ask the object for what they need: not in circles.
 */
export function lazily<T extends object>(makers: { readonly [K in keyof T]: (all: T) => T[K] }): T {
  const all = {} as T;
  for (const name of Object.keys(makers) as (keyof T)[])
    Object.defineProperty(all, name, {
      configurable: true,
      enumerable: true,
      get() {
        const value = makers[name](all);
        Object.defineProperty(all, name, { enumerable: true, value });
        return value;
      },
    });
  return all;
}
