package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import java.util.List;
import org.junit.jupiter.api.Test;

class CallExceptionTest {
  private static CallException refused(int code, String reason, String path) {
    Status.Builder status = Status.newBuilder().setCode(code).setMessage("It is refused.");
    if (!reason.isEmpty()) {
      status.addDetails(Any.pack(
          ErrorInfo.newBuilder().setReason(reason).putMetadata("run_id", "r-1").build()));
    }
    if (!path.isEmpty()) {
      status.addDetails(Any.pack(BadRequest.newBuilder()
          .addFieldViolations(BadRequest.FieldViolation.newBuilder()
              .setField(path).setDescription("is wrong"))
          .build()));
    }
    return CallException.of(status.build());
  }

  @Test
  void itHasAllThatTheServerSays() {
    CallException error = refused(6, Reason.KEY_REUSED, "key");
    assertTrue(error.is(Reason.KEY_REUSED));
    assertEquals("ALREADY_EXISTS: KEY_REUSED: It is refused. (key: is wrong)", error.getMessage());
    assertEquals(List.of(new CallException.Field("key", "is wrong")), error.fields());
    assertEquals("r-1", error.metadata().get("run_id"));
    assertEquals(CallException.Outcome.DEFINITE, error.outcome());
  }

  @Test
  void onlyADroverServerCanJudgeAResult() {
    assertTrue(refused(3, Reason.INVALID_REQUEST, "results[0].outcome").isAboutResults());
    assertFalse(refused(3, Reason.INVALID_REQUEST, "agent").isAboutResults());
    assertFalse(refused(3, "", "results[0].outcome").isAboutResults());
    assertTrue(refused(8, Reason.MESSAGE_TOO_LARGE, "").isAboutResults());
    assertFalse(refused(16, Reason.TOKEN_REQUIRED, "").isAboutResults());
  }

  @Test
  void aPollIsLostUnlessADroverServerRefusedItAtTheDoor() {
    assertTrue(refused(16, Reason.TOKEN_REQUIRED, "").wasNotAdmitted());
    assertFalse(refused(16, "", "").wasNotAdmitted());
    assertFalse(refused(8, "", "").wasNotAdmitted());
    assertFalse(refused(14, Reason.STORE_UNAVAILABLE, "").wasNotAdmitted());
  }
}
