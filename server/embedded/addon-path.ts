/** Replaced by the build with the path of the embedded addon; from the sources the driver finds its own. */
export const addonPath: string | null = null;
