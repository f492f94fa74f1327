/** Replaced by the build with the paths of the packed bill of materials and licence texts; from the sources they are where `licences` writes them. */
export const legalFiles: { readonly sbom: string; readonly licences: string } | null = null;
