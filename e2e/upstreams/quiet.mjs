// Imported first: libraries read these when they are loaded. No test calls home.
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
process.env.DO_NOT_TRACK = "1";
