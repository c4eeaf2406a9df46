import path from "node:path";
import { compile, type NamedRuntime, NoCompileRuntime, type Product, PRODUCTS } from "./compile.ts";
import { removeIfThere } from "./remove_if_there.ts";
import { executableName, hostPlatform, type Platform, platformName } from "./platforms.ts";

/** The folder with the executables for other platforms than this machine's. */
export const PLATFORMS_FOLDER = "platforms";

/** Where an executable lies under `dist/`. */
export const executablePath = (product: Product, platform: Platform): string => {
  const name = executableName(product.name, platform);
  return platform === hostPlatform()
    ? name
    : path.join(PLATFORMS_FOLDER, platformName(platform), name);
};

/** Compiles both products for each platform; gives those that there is no runtime for, and why. */
export async function compileAll(
  platforms: readonly Platform[],
  runtime: NamedRuntime | undefined,
  entryOf: (product: Product) => string,
  outDir: string,
): Promise<Map<Platform, string>> {
  const missing = new Map<Platform, string>();
  for (const platform of platforms) {
    try {
      for (const product of Object.values(PRODUCTS)) {
        const executable = path.join(outDir, executablePath(product, platform));
        await compile(product, platform, runtime, entryOf(product), executable);
      }
    } catch (error) {
      if (!(error instanceof NoCompileRuntime)) throw error;
      missing.set(platform, error.message);
      for (const product of Object.values(PRODUCTS)) {
        await removeIfThere(path.join(outDir, executablePath(product, platform)));
      }
    }
  }
  return missing;
}
